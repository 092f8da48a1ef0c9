// needs: neutral
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { Account, Asset, Keypair, SorobanDataBuilder, TransactionBuilder, xdr } from "@stellar/stellar-sdk";
import { type Engine, EngineTrap } from "../../lib/sandbox/engine.ts";
import { openChain } from "../../lib/sandbox/ledger/chain.ts";
import { parseEnvelope } from "../../lib/sandbox/ledger/envelopes.ts";
import { createImpersonation } from "../../lib/sandbox/ledger/impersonation.ts";
import type { SorobanFrame } from "../../lib/sandbox/ledger/soroban_checks.ts";
import { applySorobanOperation } from "../../lib/sandbox/ledger/soroban_operations.ts";
import { createLedgerState, openChanges } from "../../lib/sandbox/ledger/state.ts";
import { feeBump } from "./envelope_parts.ts";
import { alice } from "./people.ts";
import {
  accountOf,
  address,
  apply,
  balanceOf,
  call,
  codesOf,
  engineModule,
  feeChargedOf,
  fund,
  metaOf,
  prepare,
  refusal,
  signed,
  submit,
} from "./sandbox_network.ts";
import { alteredRegistration, alteredSoroban, type ContractNetwork, startContractNetwork } from "./soroban_parts.ts";

let on: ContractNetwork;
before(async () => {
  on = await startContractNetwork();
});

describe("the network charges the declared resources of a contract transaction that fails", () => {
  const cases: [what: string, data: (data: SorobanDataBuilder) => void, code: string][] = [
    ["without a key it needs", (data) => void data.setReadWrite(data.getReadWrite().slice(1)), "Trapped"],
    ["without the instructions it needs", (data) => {
      const { instructions, diskReadBytes, writeBytes } = data.build().resources;
      data.setResources(Math.floor(instructions / 2), diskReadBytes, writeBytes);
    }, "ResourceLimitExceeded"],
    ["without the bytes it writes", (data) => {
      const { instructions, diskReadBytes } = data.build().resources;
      data.setResources(instructions, diskReadBytes, 10);
    }, "ResourceLimitExceeded"],
    ["without the rent it owes", (data) => void data.setResourceFee(30_000n), "InsufficientRefundableFee"],
  ];
  for (const [what, data, code] of cases) {
    test(`${what}: invokeHostFunction${code}`, () => {
      const { network, owner } = on;
      const before = accountOf(network, owner);
      const applied = apply(network, alteredRegistration(on, { data }));
      assert.equal(codesOf(applied.resultXdr), `txFailed/invokeHostFunction/invokeHostFunction${code}`);
      assert.deepEqual(metaOf(applied).operations, [], "it changes nothing");
      const after = accountOf(network, owner);
      assert.equal(after.seqNum, before.seqNum + 1n);
      assert.equal(before.balance - after.balance, feeChargedOf(applied));
      const ext = metaOf(applied).sorobanMeta?.ext;
      assert.ok(ext?.type === "v1");
      assert.equal(ext.v1.totalRefundableResourceFeeCharged, 0n);
      assert.equal(feeChargedOf(applied), ext.v1.totalNonRefundableResourceFeeCharged + 100n);
    });
  }
});

test("a fee bump pays resources that the inner fee does not cover, and its payer gets the refund", async () => {
  const { network, owner: payer } = on;
  await fund(network, alice);
  const operation = call(Asset.native().contractId(network.passphrase), "balance", address(alice.publicKey()));
  const prepared = prepare(network, alice, operation);
  const inner = signed(alteredSoroban(network, prepared, { tx: () => ({ fee: 1 }) }), alice);
  assert.equal(refusal(submit(network, inner)), "txMalformed");
  const [alicesBefore, payersBefore] = [balanceOf(network, alice), balanceOf(network, payer)];
  const bid = BigInt(prepared.fee) + 200n;
  const applied = apply(network, feeBump(network, payer, bid.toString(), inner));
  assert.equal(applied.successful, true);
  assert.equal(balanceOf(network, alice), alicesBefore);
  assert.equal(payersBefore - balanceOf(network, payer), feeChargedOf(applied));
  assert.ok(feeChargedOf(applied) < bid, "a part of the fee is refunded");
});

test("a trap of the engine fails only its transaction", () => {
  const { network, sandbox, owner } = on;
  const operation = call(sandbox.asset, "name");
  const envelope = parseEnvelope(prepare(network, owner, operation).toEnvelope().toXdr(), new Uint8Array(32));
  const engine = {
    applyInvoke() {
      throw new EngineTrap("out of stack");
    },
  } as unknown as Engine;
  const header = { protocolVersion: 28, sequence: 2, closeTime: 0, baseReserve: 0, networkId: new Uint8Array(32) };
  const changes = openChanges(createLedgerState());
  const impersonation = createImpersonation(network.passphrase);
  const source = owner.rawPublicKey();
  const context = { engine, impersonation, header, changes, source, prngSeed: new Uint8Array(32) };
  const outcome = applySorobanOperation(envelope.inner as SorobanFrame, context);
  assert.equal(outcome.outcome, "failure");
  const result = xdr.OperationResult.fromXdr(outcome.resultXdr);
  assert.ok(result.type === "opInner");
  assert.equal(result.tr.value.type, "invokeHostFunctionTrapped");
});

test("the network reports its own fault, fails that transaction with txInternalError, and closes the next ledger", async () => {
  const reported: unknown[] = [];
  const passphrase = "faulty";
  const chain = await openChain({
    engineWasm: engineModule,
    protocolVersion: undefined,
    passphrase,
    startTime: 0,
    retentionLedgers: 10,
    stateFile: undefined,
    adjustSettings: undefined,
    onInternalError: (error) => reported.push(error),
  });
  const root = Keypair.master(passphrase);
  const draft = new TransactionBuilder(new Account(root.publicKey(), "0"), {
    fee: "1000100",
    networkPassphrase: passphrase,
    sorobanData: new SorobanDataBuilder().setResourceFee(1_000_000n).build(),
  }).addOperation(call(Asset.native().contractId(passphrase), "name")).setTimeout(0).build();
  const envelope = parseEnvelope(signed(draft, root).toEnvelope().toXdr(), chain.validator.networkId);
  const fault = new Error("not foreseen");
  chain.validator.engine = {
    ...chain.validator.engine,
    applyInvoke: () => {
      throw fault;
    },
  };
  chain.append([envelope], 1);
  const applied = chain.history.transaction(envelope.hash);
  assert.equal(codesOf(applied!.resultXdr), "txInternalError");
  assert.deepEqual(reported, [fault]);
  chain.append([], 2);
  assert.equal(chain.tip().sequence, 3);
});

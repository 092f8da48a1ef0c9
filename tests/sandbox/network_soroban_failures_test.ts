// needs: neutral
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { Account, Asset, Keypair, SorobanDataBuilder, TransactionBuilder, xdr } from "@stellar/stellar-sdk";
import { type Engine, EngineTrap } from "../../lib/sandbox/engine.ts";
import { openChain } from "../../lib/sandbox/ledger/chain.ts";
import { parseEnvelope } from "../../lib/sandbox/ledger/envelopes.ts";
import type { SorobanFrame } from "../../lib/sandbox/ledger/soroban_checks.ts";
import { applySorobanOperation } from "../../lib/sandbox/ledger/soroban_operations.ts";
import { createLedgerState, openChanges } from "../../lib/sandbox/ledger/state.ts";
import {
  accountOf,
  address,
  apply,
  bytes,
  call,
  codesOf,
  engineModule,
  feeChargedOf,
  prepare,
  signed,
} from "./sandbox_network.ts";
import { alteredSoroban, type ContractNetwork, hashOf, startContractNetwork } from "./soroban_parts.ts";

describe("a contract transaction that fails at apply is charged for what it declared", () => {
  let on: ContractNetwork;
  before(async () => {
    on = await startContractNetwork();
  });

  function applyAltered(data: (data: SorobanDataBuilder) => void) {
    const { network, sandbox, owner } = on;
    const operation = call(
      sandbox.contracts.deviceRegistry,
      "register",
      address(owner.publicKey()),
      bytes(hashOf("failing card")),
      address(owner.publicKey()),
    );
    return apply(network, signed(alteredSoroban(network, prepare(network, owner, operation), { data }), owner));
  }

  const cases: [string, (data: SorobanDataBuilder) => void, string][] = [
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
  for (const [what, change, code] of cases) {
    test(`${what}: ${code}`, () => {
      const { network, owner } = on;
      const before = accountOf(network, owner);
      const applied = applyAltered(change);
      assert.equal(codesOf(applied.resultXdr), `txFailed/invokeHostFunction/invokeHostFunction${code}`);
      const after = accountOf(network, owner);
      assert.equal(after.seqNum, before.seqNum + 1n);
      assert.equal(before.balance - after.balance, feeChargedOf(applied));
      const meta = xdr.TransactionMeta.fromXdr(applied.resultMetaXdr);
      assert.ok(meta.type === "v4" && meta.v4.sorobanMeta?.ext.type === "v1");
      const { totalNonRefundableResourceFeeCharged, totalRefundableResourceFeeCharged } = meta.v4.sorobanMeta.ext.v1;
      assert.equal(totalRefundableResourceFeeCharged, 0n);
      assert.equal(feeChargedOf(applied), totalNonRefundableResourceFeeCharged + 100n);
    });
  }

  test("an engine that traps fails the transaction and nothing else", () => {
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
    const seed = new Uint8Array(32);
    const context = { engine, header, changes, source: owner.rawPublicKey(), prngSeed: seed };
    const outcome = applySorobanOperation(envelope.inner as SorobanFrame, context);
    assert.equal(outcome.outcome, "failure");
    const result = xdr.OperationResult.fromXdr(outcome.resultXdr);
    assert.ok(result.type === "opInner");
    assert.equal(result.tr.value.type, "invokeHostFunctionTrapped");
  });
});

describe("a fault of the network's own", () => {
  test("fails the transaction it happens in with txInternalError, is reported, and the next ledger closes", async () => {
    const reported: unknown[] = [];
    const passphrase = "faulty";
    const chain = await openChain({
      engineWasm: await engineModule(),
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
});

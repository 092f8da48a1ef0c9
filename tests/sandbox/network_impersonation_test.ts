// needs: once
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Operation, TransactionBuilder, xdr } from "@stellar/stellar-sdk";
import { bootstrapSandbox } from "../../lib/sandbox/bootstrap.ts";
import { accountKeyXdr } from "../../lib/sandbox/ledger/accounts.ts";
import { sameBytes } from "../../lib/sandbox/ledger/bytes.ts";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import { pay } from "./envelope_parts.ts";
import { openFork, openOrigin } from "./fork.ts";
import { sandboxRpcOfFile } from "./rpc/sandbox_rpc.ts";
import {
  accountOf,
  address,
  alice,
  apply,
  balanceOf,
  bob,
  build,
  call,
  carol,
  codesOf,
  contractCode,
  fund,
  i128,
  invoke,
  prepare,
  refusal,
  signed,
  startNetwork,
  submit,
} from "./sandbox_network.ts";
import { cardCalls, holdersOf, startContractNetwork } from "./soroban_parts.ts";

const unsigned = (network: SandboxNetwork, operation: xdr.Operation = pay(carol, 30_000_000n)) =>
  build(network, alice, [operation]);

describe("an impersonated account", () => {
  test("sends envelopes without signatures, until it is impersonated no more", async () => {
    const { network } = await startNetwork();
    await fund(network, alice, bob, carol);
    assert.equal(refusal(submit(network, unsigned(network))), "txBadAuth");
    network.impersonate(alice.publicKey());
    const before = balanceOf(network, carol);
    assert.equal(apply(network, unsigned(network)).successful, true);
    assert.equal(apply(network, signed(unsigned(network), alice)).successful, true, "its signature does no harm");
    assert.equal(apply(network, signed(unsigned(network), bob)).successful, true, "nor does any other");
    assert.equal(balanceOf(network, carol), before + 90_000_000n);
    assert.equal(refusal(submit(network, build(network, bob, [pay(carol, 1n)]))), "txBadAuth", "another account");
    assert.equal(network.stopImpersonating(alice.publicKey()), true);
    assert.equal(refusal(submit(network, unsigned(network))), "txBadAuth");
  });

  test("is the source of an operation, pays for a fee bump, and needs no threshold", async () => {
    const { network, run } = await startNetwork();
    await fund(network, alice, bob, carol);
    run(alice, Operation.setOptions({ lowThreshold: 200, medThreshold: 200, highThreshold: 200 }));
    network.impersonate(alice.publicKey());
    const ofAlice = Operation.bumpSequence({ bumpTo: "0", source: alice.publicKey() });
    assert.equal(apply(network, signed(build(network, bob, [ofAlice]), bob)).successful, true);
    const inner = signed(build(network, bob, [pay(carol, 20_000_000n)]), bob);
    const bump = TransactionBuilder.buildFeeBumpTransaction(alice.publicKey(), "200", inner, network.passphrase);
    assert.equal(apply(network, bump).successful, true);
  });

  test("authorises a contract call of another source, and keeps its own signers", async () => {
    const { network, sandbox, owner, merchant, calls, run } = await startContractNetwork();
    invoke(network, owner, calls.register());
    run(owner, Operation.setOptions({ signer: { ed25519PublicKey: carol.publicKey(), weight: 3 }, medThreshold: 4 }));
    const funding = () => signed(prepare(network, merchant, calls.fund(70_000_000n)), merchant);
    const failed = apply(network, funding());
    assert.match(codesOf(failed.resultXdr), /^txFailed\/invokeHostFunction\/invokeHostFunctionTrapped/);
    const enforced = network.simulate(funding().toEnvelope().toXdr(), {});
    assert.equal(enforced.ok, false, "a simulation with authorisations checks them");
    network.impersonate(owner.publicKey());
    const simulated = network.simulate(funding().toEnvelope().toXdr(), {});
    assert.ok(simulated.ok, simulated.ok ? "" : simulated.error);
    const key = accountKeyXdr(owner.rawPublicKey());
    const { afterXdr } = simulated.stateChanges.find(({ keyXdr }) => sameBytes(keyXdr, key))!;
    const { data } = xdr.LedgerEntry.fromXdr(afterXdr!);
    assert.deepEqual(data.type === "account" && data.account.signers.length, 1);
    assert.equal(data.type === "account" && data.account.signers[0]!.weight, 3);
    const [{ balance, signers }, escrow] = [accountOf(network, owner), sandbox.contracts.paymentEscrow];
    assert.equal(
      codesOf(apply(network, funding()).resultXdr),
      "txSuccess/invokeHostFunction/invokeHostFunctionSuccess",
    );
    const after = accountOf(network, owner);
    assert.equal(after.balance, balance - 70_000_000n);
    assert.deepEqual(after.signers.map((signer) => signer.toXdr()), signers.map((signer) => signer.toXdr()));
    const held = network.simulate(
      build(network, merchant, [call(sandbox.asset, "balance", address(escrow))]).toEnvelope().toXdr(),
      {},
    );
    assert.ok(held.ok);
    assert.deepEqual(held.result!.valueXdr, i128(70_000_000).toXdr());
  });

  test("of a forked network pays and funds a card there, though nobody here has its key", async () => {
    const origin = await openOrigin();
    const sandbox = bootstrapSandbox(origin.network, { contracts: contractCode() });
    const { owner } = holdersOf(sandbox);
    const calls = cardCalls(sandbox);
    invoke(origin.network, owner, calls.register());
    const fork = await openFork(origin.url);
    assert.deepEqual((await fork.call("sandbox_impersonate", { address: owner.publicKey() })).result, {
      impersonated: [owner.publicKey()],
    });
    const draft = new TransactionBuilder(await fork.rpc.getAccount(owner.publicKey()), {
      fee: "100",
      networkPassphrase: fork.network.passphrase,
    }).setTimeout(60).addOperation(calls.fund(5_000_000n)).build();
    const sent = await fork.rpc.sendTransaction(await fork.rpc.prepareTransaction(draft));
    assert.equal((await fork.rpc.pollTransaction(sent.hash)).status, "SUCCESS");
    await fork.stop();
    await origin.stop();
  });
});

describe("sandbox_impersonate", () => {
  const node = sandboxRpcOfFile();
  const impersonated = async () => (await node.call("sandbox_status")).result.impersonated;

  test("shows its accounts in sandbox_status, and sandbox_stopImpersonating ends it", async () => {
    const [one, two] = [alice.publicKey(), bob.publicKey()];
    for (const address of [one, two, one]) await node.call("sandbox_impersonate", { address });
    assert.deepEqual(await impersonated(), [one, two]);
    await node.call("sandbox_stopImpersonating", { address: one });
    assert.deepEqual(await impersonated(), [two]);
    const { error } = await node.call("sandbox_stopImpersonating", { address: one });
    assert.deepEqual([error.code, error.message.includes(`impersonated accounts ${two}; got "${one}"`)], [
      -32602,
      true,
    ]);
  });

  test("refuses a contract, and unknown parameters", async () => {
    const contract = `C${"A".repeat(55)}`;
    const cases: [Record<string, unknown>, RegExp][] = [
      [{ address: contract }, /address must be an account \(G…\); got "C/],
      [{ account: alice.publicKey() }, /some of address; got "account"/],
      [{}, /address/],
    ];
    for (const [params, message] of cases) {
      const { error } = await node.call("sandbox_impersonate", params);
      assert.equal(error?.code, -32602);
      assert.match(error.message, message);
    }
  });
});

// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Operation, TransactionBuilder } from "@stellar/stellar-sdk";
import { rootKeypair } from "../../lib/sandbox/ledger/genesis.ts";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import { alice, bob, pay } from "./envelope_parts.ts";
import { apply, balanceOf, build, fund, keypair, signed, startNetwork, submit } from "./sandbox_network.ts";

const carol = keypair("carol");

describe("the faucet", () => {
  test("funds many accounts at once, and rejects those that have enough", async () => {
    const { network } = await startNetwork();
    const wanted = [alice, bob, carol].map((pair) => network.fund(pair.publicKey()));
    network.closeLedger();
    network.closeLedger();
    const funded = await Promise.all(wanted);
    assert.deepEqual(funded.map((t) => t.successful), [true, true, true]);
    assert.equal(funded[1]!.hash, funded[2]!.hash);
    assert.equal(balanceOf(network, carol), 100_000_000_000n);
    await assert.rejects(network.fund(alice.publicKey()), /is already funded to the starting balance/);
  });

  test("waits for its turn when the root account has something else waiting", async () => {
    const { network } = await startNetwork();
    const root = rootKeypair(network.passphrase);
    const create = Operation.createAccount({ destination: bob.publicKey(), startingBalance: "5" });
    submit(network, signed(build(network, root, [create]), root));
    const funded = network.fund(alice.publicKey());
    network.closeLedger();
    network.closeLedger();
    assert.equal((await funded).successful, true);
  });

  test("rejects what waits when the network stops", async () => {
    const { network } = await startNetwork();
    const wanted = [alice, bob].map((pair) => network.fund(pair.publicKey()));
    await network.stop();
    for (const request of wanted) await assert.rejects(request, /dropped/);
  });

  test("has paid when its transaction is applied in a fee bump of somebody else's", async () => {
    const { network } = await startNetwork();
    await fund(network, alice);
    const root = rootKeypair(network.passphrase);
    const funded = network.fund(bob.publicKey());
    // The same transaction as the faucet's.
    const payment = Operation.createAccount({ destination: bob.publicKey(), startingBalance: "10000" });
    const inner = signed(build(network, root, [payment]), root);
    assert.equal(submit(network, inner).status, "DUPLICATE");
    const bump = signed(TransactionBuilder.buildFeeBumpTransaction(alice, "1000", inner, network.passphrase), alice);
    apply(network, bump);
    assert.equal(await endOf(network, funded), "paid");
    assert.equal(await endOf(network, network.fund(carol.publicKey())), "paid");
  });

  test("goes on when something else takes the place of its transaction", async () => {
    const { network } = await startNetwork();
    await fund(network, alice);
    const root = rootKeypair(network.passphrase);
    const funded = network.fund(bob.publicKey());
    const other = signed(build(network, root, [pay(alice)]), root);
    const bump = signed(TransactionBuilder.buildFeeBumpTransaction(alice, "1000", other, network.passphrase), alice);
    apply(network, bump);
    assert.equal(await endOf(network, funded), "refused");
    assert.equal(await endOf(network, network.fund(carol.publicKey())), "paid");
  });

  test("refuses when the root account has less than it pays", async () => {
    const { network } = await startNetwork();
    await fund(network, alice);
    apply(network, emptying(network));
    assert.equal(await endOf(network, network.fund(bob.publicKey())), "refused");
  });

  test("refuses when the root account is emptied before its payment", async () => {
    const { network } = await startNetwork();
    await fund(network, alice);
    const emptied = submit(network, emptying(network));
    const funded = network.fund(bob.publicKey());
    assert.equal(await endOf(network, funded), "refused");
    assert.equal(network.transaction(emptied.hash)?.successful, true);
  });
});

/** What has become of a payment some ledgers later. */
function endOf(network: SandboxNetwork, payment: Promise<unknown>): Promise<"paid" | "refused" | "waits"> {
  const ended = payment.then(() => "paid" as const, () => "refused" as const);
  for (let ledger = 0; ledger < 3; ledger++) network.closeLedger();
  return Promise.race([ended, new Promise<"waits">((resolve) => setTimeout(resolve, 0, "waits"))]);
}

/** Alice's transaction that leaves the root account, whose secret is known to all, 9,999 lumens. */
function emptying(network: SandboxNetwork) {
  const root = rootKeypair(network.passphrase);
  const amount = balanceOf(network, root) - 99_990_000_000n;
  return signed(build(network, alice, [pay(alice, amount, root.publicKey())]), alice, root);
}

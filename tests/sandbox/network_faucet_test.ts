// needs: neutral
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { rootKeypair } from "../../lib/sandbox/ledger/genesis.ts";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import { create, feeBump, pay } from "./envelope_parts.ts";
import { alice, apply, balanceOf, bob, build, carol, fund, signed, startNetwork, submit } from "./sandbox_network.ts";

describe("the faucet", () => {
  let network: SandboxNetwork;
  beforeEach(async () => {
    ({ network } = await startNetwork());
  });

  const root = () => rootKeypair(network.passphrase);

  /** The result of a payment three ledgers later. */
  function resultOf(payment: Promise<unknown>): Promise<"paid" | "refused" | "waits"> {
    const ended = payment.then(() => "paid" as const, () => "refused" as const);
    for (let ledger = 0; ledger < 3; ledger++) network.closeLedger();
    return Promise.race([ended, new Promise<"waits">((resolve) => setTimeout(resolve, 0, "waits"))]);
  }

  /** Alice's transaction that leaves 9,999 lumens to the root account, whose secret is public. */
  function emptying() {
    const amount = balanceOf(network, root()) - 99_990_000_000n;
    return signed(build(network, alice, [pay(alice, amount, root())]), alice, root());
  }

  test("pays several accounts in one transaction, and rejects an account that has the starting balance", async () => {
    const requests = [alice, bob, carol].map((pair) => network.fund(pair.publicKey()));
    network.closeLedger();
    network.closeLedger();
    const funded = await Promise.all(requests);
    assert.deepEqual(funded.map((t) => t.successful), [true, true, true]);
    assert.equal(funded[1]!.hash, funded[2]!.hash);
    assert.equal(balanceOf(network, carol), 100_000_000_000n);
    await assert.rejects(network.fund(alice.publicKey()), /is already funded to the starting balance/);
  });

  test("pays after another waiting transaction of the root account", async () => {
    submit(network, signed(build(network, root(), [create(bob, "5")]), root()));
    assert.equal(await resultOf(network.fund(alice.publicKey())), "paid");
  });

  test("rejects its waiting requests when the network stops", async () => {
    const requests = [alice, bob].map((pair) => network.fund(pair.publicKey()));
    await network.stop();
    for (const request of requests) await assert.rejects(request, /dropped/);
  });

  test("reports its payment when a ledger applies it within another account's fee bump", async () => {
    await fund(network, alice);
    const funded = network.fund(bob.publicKey());
    const same = signed(build(network, root(), [create(bob, "10000")]), root());
    assert.equal(submit(network, same).status, "DUPLICATE");
    apply(network, feeBump(network, alice, "1000", same));
    assert.equal(await resultOf(funded), "paid");
    assert.equal(await resultOf(network.fund(carol.publicKey())), "paid");
  });

  test("rejects its request when another transaction replaces its own, and pays the next request", async () => {
    await fund(network, alice);
    const funded = network.fund(bob.publicKey());
    const other = signed(build(network, root(), [pay(alice)]), root());
    apply(network, feeBump(network, alice, "1000", other));
    assert.equal(await resultOf(funded), "refused");
    assert.equal(await resultOf(network.fund(carol.publicKey())), "paid");
  });

  test("rejects a request if the root account has less than the starting balance", async () => {
    await fund(network, alice);
    apply(network, emptying());
    assert.equal(await resultOf(network.fund(bob.publicKey())), "refused");
  });

  test("rejects a request if a transaction empties the root account before its payment", async () => {
    await fund(network, alice);
    const emptied = submit(network, emptying());
    assert.equal(await resultOf(network.fund(bob.publicKey())), "refused");
    assert.equal(network.transaction(emptied.hash)?.successful, true);
  });
});

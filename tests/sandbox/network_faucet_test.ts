// needs: neutral
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { rootKeypair } from "../../lib/sandbox/ledger/genesis.ts";
import { create, feeBump, pay } from "./envelope_parts.ts";
import { alice, bob, carol, signed, startNetwork, type TestNetwork } from "./sandbox_network.ts";

describe("the faucet", () => {
  let n: TestNetwork;
  beforeEach(async () => {
    n = await startNetwork();
  });

  const root = () => rootKeypair(n.network.passphrase);

  /** The result of a payment three ledgers later. */
  function resultOf(payment: Promise<unknown>): Promise<"paid" | "refused" | "waits"> {
    const ended = payment.then(() => "paid" as const, () => "refused" as const);
    for (let ledger = 0; ledger < 3; ledger++) n.close();
    return Promise.race([ended, new Promise<"waits">((resolve) => setTimeout(resolve, 0, "waits"))]);
  }

  /** Alice's transaction that leaves 9,999 lumens to the root account, whose secret is public. */
  function emptying() {
    const amount = n.balance(root()) - 99_990_000_000n;
    return signed(n.build(alice, [pay(alice, amount, root())]), alice, root());
  }

  test("pays several accounts in one transaction, and rejects an account that has the starting balance", async () => {
    const requests = [alice, bob, carol].map((pair) => n.network.fund(pair.publicKey()));
    n.close();
    n.close();
    const funded = await Promise.all(requests);
    assert.deepEqual(funded.map((t) => t.successful), [true, true, true]);
    assert.equal(funded[1]!.hash, funded[2]!.hash);
    assert.equal(n.balance(carol), 100_000_000_000n);
    await assert.rejects(n.network.fund(alice.publicKey()), /is already funded to the starting balance/);
  });

  test("pays after another waiting transaction of the root account", async () => {
    n.submit(signed(n.build(root(), [create(bob, "5")]), root()));
    assert.equal(await resultOf(n.network.fund(alice.publicKey())), "paid");
  });

  test("rejects its waiting requests when the network stops", async () => {
    const requests = [alice, bob].map((pair) => n.network.fund(pair.publicKey()));
    await n.network.stop();
    for (const request of requests) await assert.rejects(request, /dropped/);
  });

  test("reports its payment when a ledger applies it within another account's fee bump", async () => {
    await n.fund(alice);
    const funded = n.network.fund(bob.publicKey());
    const same = signed(n.build(root(), [create(bob, "10000")]), root());
    assert.equal(n.submit(same).status, "DUPLICATE");
    n.apply(feeBump(n.network, alice, "1000", same));
    assert.equal(await resultOf(funded), "paid");
    assert.equal(await resultOf(n.network.fund(carol.publicKey())), "paid");
  });

  test("rejects its request when another transaction replaces its own, and pays the next request", async () => {
    await n.fund(alice);
    const funded = n.network.fund(bob.publicKey());
    const other = signed(n.build(root(), [pay(alice)]), root());
    n.apply(feeBump(n.network, alice, "1000", other));
    assert.equal(await resultOf(funded), "refused");
    assert.equal(await resultOf(n.network.fund(carol.publicKey())), "paid");
  });

  test("rejects a request if the root account has less than the starting balance", async () => {
    await n.fund(alice);
    n.apply(emptying());
    assert.equal(await resultOf(n.network.fund(bob.publicKey())), "refused");
  });

  test("rejects a request if a transaction empties the root account before its payment", async () => {
    await n.fund(alice);
    const emptied = n.submit(emptying());
    assert.equal(await resultOf(n.network.fund(bob.publicKey())), "refused");
    assert.equal(n.network.transaction(emptied.hash)?.successful, true);
  });
});

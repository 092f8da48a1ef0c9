import assert from "node:assert/strict";
import { test } from "node:test";
import type { Store } from "../../lib/store/store.ts";
import type { SubscriptionLease } from "../../lib/store/webhook_store.ts";
import type { Subject } from "./store_contract.ts";
import {
  commitEvents,
  fanOut,
  leaseAll,
  sampleDelivery,
  sampleSubscription,
  settlement,
  START_MS,
  subscribe,
} from "./webhook_samples.ts";

export function leaseContract({ store, openAgain, isPersistent }: Subject): void {
  /** Subscriptions that have one delivery each, due so many milliseconds after the start. */
  async function owe(dueAfterMs: Record<string, number>): Promise<void> {
    await subscribe(store(), ...Object.keys(dueAfterMs));
    await commitEvents(store(), 1, 9);
    await fanOut(
      store(),
      Object.entries(dueAfterMs).map(([id, ms]) => sampleDelivery(id, 1, { dueAtMs: START_MS + ms })),
    );
  }
  const lease = async (afterMs: number, limit = 100, by: Store = store()) =>
    await by.leaseSubscriptions({ nowMs: START_MS + afterMs, leaseMs: 1_000, limit });
  const ids = (leases: SubscriptionLease[]) => leases.map(({ subscriptionId }) => subscriptionId);

  test("leaseSubscriptions answers those with something due, the longest due first, each with a token of its own", async () => {
    await owe({ wh_1: 3, wh_2: 1, wh_3: 5, wh_4: 2 });
    assert.deepEqual(await lease(0), []);
    const leases = await lease(3);
    assert.deepEqual(ids(leases), ["wh_2", "wh_4", "wh_1"]);
    assert.deepEqual(leases.map(({ untilMs }) => untilMs), [1_003, 1_003, 1_003].map((ms) => START_MS + ms));
    assert.equal(new Set(leases.map(({ token }) => token)).size, 3);
  });

  test("leaseSubscriptions answers at most its limit, 1 to 100", async () => {
    await owe(Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`wh_${n}`, n])));
    assert.deepEqual(ids(await lease(50, 2)), ["wh_0", "wh_1"]);
    assert.deepEqual(ids(await lease(50, 4)), ["wh_2", "wh_3", "wh_4", "wh_5"]);
    for (const limit of [0, 101, 1.5]) await assert.rejects(lease(0, limit), RangeError);
    assert.deepEqual(ids(await lease(50)), ["wh_6", "wh_7", "wh_8"]);
  });

  test("what is leased is not leased again until its lease ends, then with another token", async () => {
    await owe({ wh_1: 0 });
    const [first] = await lease(0);
    assert.deepEqual(await lease(0), []);
    assert.deepEqual(await lease(999), []);
    const [second] = await lease(1_000);
    assert.equal(second?.subscriptionId, "wh_1");
    assert.notEqual(second.token, first!.token);
  });

  test("of many who lease at once, one gets each", async () => {
    const names = Array.from({ length: 30 }, (_, n) => `wh_${n}`);
    await owe(Object.fromEntries(names.map((name) => [name, 0])));
    const other = isPersistent ? await openAgain() : store();
    const rounds = await Promise.all(Array.from({ length: 8 }, (_, n) => lease(1, 7, n % 2 ? store() : other)));
    assert.deepEqual(ids(rounds.flat()).sort(), names.toSorted());
  });

  test("of two handles that race for one lease, exactly one wins", async () => {
    await owe({ wh_1: 0 });
    const other = isPersistent ? await openAgain() : store();
    for (let round = 0; round < 20; round++) {
      const leases = (await Promise.all([lease(round, 1), lease(round, 1, other)])).flat();
      assert.equal(leases.length, 1);
      await (round % 2 ? store() : other).releaseLease(leases[0]!);
    }
  });

  test("renewLeases prolongs what is still one's own, also once it has ended, and leaves out what is lost", async () => {
    await owe({ wh_1: 0, wh_2: 0, wh_3: 0 });
    const leases = await lease(0);
    const [first, second, third] = leases.toSorted((left, right) =>
      left.subscriptionId < right.subscriptionId ? -1 : 1
    );
    await store().releaseLease(second!);
    const untilMs = START_MS + 5_000;
    const forged = { ...third!, token: "forged" };
    assert.deepEqual(await store().renewLeases([first!, second!, forged], untilMs), [{ ...first!, untilMs }]);
    assert.deepEqual(ids(await lease(4_999)).sort(), ["wh_2", "wh_3"]);
    assert.deepEqual(await store().renewLeases([third!], untilMs), []);
    assert.deepEqual(await store().renewLeases([first!], START_MS + 9_000), [{ ...first!, untilMs: START_MS + 9_000 }]);
    assert.deepEqual(ids(await lease(8_999)).sort(), ["wh_2", "wh_3"]);
    assert.deepEqual(ids(await lease(9_000)), ["wh_1"]);
    assert.deepEqual(await store().renewLeases([], untilMs), []);
  });

  test("renewLeases prolongs 100 at once, and no more", async () => {
    const names = Array.from({ length: 101 }, (_, n) => `wh_${String(n).padStart(3, "0")}`);
    for (const name of names) await store().insertSubscription(sampleSubscription(name), 1_000);
    await commitEvents(store(), 1, 1);
    await fanOut(store(), names.map((name) => sampleDelivery(name, 1)));
    const leases = [...await lease(0), ...await lease(0)];
    assert.equal(leases.length, 101);
    assert.equal((await store().renewLeases(leases.slice(0, 100), START_MS + 7_000)).length, 100);
    await assert.rejects(store().renewLeases(leases, START_MS + 7_000), RangeError);
    assert.deepEqual(ids(await lease(6_999)), ids(leases.slice(100)));
  });

  test("a lease that is given back can be had at once; notBeforeMs holds the subscription back until then", async () => {
    await owe({ wh_1: 0 });
    const [first] = await lease(0);
    await store().releaseLease(first!);
    const [second] = await lease(0);
    assert.notEqual(second!.token, first!.token);
    await store().releaseLease(first!);
    assert.deepEqual(await lease(0), []);
    await store().releaseLease(second!, { notBeforeMs: START_MS + 60_000 });
    assert.equal(await store().nextDueAtMs(), START_MS + 60_000);
    assert.deepEqual(await lease(59_999), []);
    // Deliveries that come meanwhile do not change that.
    await fanOut(store(), [sampleDelivery("wh_1", 2)]);
    assert.deepEqual(await lease(59_999), []);
    assert.deepEqual(ids(await lease(60_000)), ["wh_1"]);
  });

  test("a lease that is given back with notBeforeMs now goes to the end of the queue", async () => {
    await owe({ wh_1: 0, wh_2: 10, wh_3: 20 });
    const [first] = await lease(20, 1);
    assert.equal(first!.subscriptionId, "wh_1");
    await store().releaseLease(first!, { notBeforeMs: START_MS + 30 });
    assert.deepEqual(ids(await lease(30)), ["wh_2", "wh_3", "wh_1"]);
  });

  test("a subscription with nothing due is not leased, whatever was due before", async () => {
    await owe({ wh_1: 0 });
    const [first] = await lease(0);
    await store().settle([settlement(first!, 1, "retry")]);
    await store().releaseLease(first!);
    assert.deepEqual(await lease(9_999), []);
    const [second] = await lease(10_000);
    await store().settle([settlement(second!, 1, "delivered", { id: "at_2", number: 2 })]);
    // Nobody gives it back.
    assert.deepEqual(await lease(99_000), []);
    await fanOut(store(), [sampleDelivery("wh_1", 2, { dueAtMs: START_MS + 99_001 })]);
    assert.deepEqual(await lease(99_000), []);
    assert.deepEqual(ids(await lease(99_001)), ["wh_1"]);
  });

  test("deliveries that come while a subscription is leased make it due again when it is given back", async () => {
    await owe({ wh_1: 0 });
    const [first] = await lease(0);
    await store().settle([settlement(first!, 1, "delivered")]);
    await fanOut(store(), [sampleDelivery("wh_1", 2, { dueAtMs: START_MS + 5 })]);
    assert.deepEqual(await lease(10), []);
    await store().releaseLease(first!);
    assert.equal(await store().nextDueAtMs(), START_MS + 5);
    assert.deepEqual(ids(await lease(5)), ["wh_1"]);
  });

  test("nextDueAtMs answers when the next one can be leased, undefined when there is none", async () => {
    assert.equal(await store().nextDueAtMs(), undefined);
    await owe({ wh_1: 7, wh_2: 3 });
    assert.equal(await store().nextDueAtMs(), START_MS + 3);
    const [second] = await lease(3);
    assert.equal(await store().nextDueAtMs(), START_MS + 7);
    const [first] = await lease(7);
    assert.equal(await store().nextDueAtMs(), START_MS + 1_003);
    await fanOut(store(), [sampleDelivery("wh_2", 2), sampleDelivery("wh_2", 3, { dueAtMs: START_MS + 2 })]);
    assert.equal(await store().nextDueAtMs(), START_MS + 1_003);
    await store().settle([1, 2, 3].map((n) => settlement(second!, n, "delivered")));
    assert.equal(await store().nextDueAtMs(), START_MS + 1_007);
    await store().settle([settlement(first!, 1, "dead")]);
    assert.equal(await store().nextDueAtMs(), undefined);
    await store().releaseLease(first!);
    assert.equal(await store().nextDueAtMs(), undefined);
  });

  test("one subscription that is owed very much does not hide the others", async () => {
    await subscribe(store(), "wh_much", "wh_1");
    await commitEvents(store(), 0, 999);
    for (let n = 0; n < 400; n++) {
      await fanOut(store(), [sampleDelivery("wh_much", n, { dueAtMs: START_MS + n })]);
    }
    await fanOut(store(), [sampleDelivery("wh_1", 400, { dueAtMs: START_MS + 500 })]);
    assert.deepEqual(ids(await lease(600, 2)), ["wh_much", "wh_1"]);
    assert.deepEqual(await lease(600), []);
    assert.equal(await store().nextDueAtMs(), START_MS + 1_600);
  });

  test("whatever couriers and fan-out do at the same time, everything is delivered once", async () => {
    const names = ["wh_1", "wh_2", "wh_3"];
    await subscribe(store(), ...names);
    await commitEvents(store(), 1, 60);
    const other = isPersistent ? await openAgain() : store();
    const delivered: string[] = [];
    let isFannedOut = false;
    async function deliver(by: Store): Promise<void> {
      while (!isFannedOut || await by.nextDueAtMs() !== undefined) {
        for (const lease of (await leaseAll(by)).values()) {
          const due = await by.dueDeliveries({ subscriptionId: lease.subscriptionId, nowMs: START_MS, limit: 5 });
          delivered.push(...due.map(({ delivery }) => delivery.id));
          await by.settle(due.map(({ delivery }) => {
            const n = Number(delivery.position.slice(7, 26));
            return settlement(lease, n, "delivered");
          }));
          await by.releaseLease(lease);
        }
        await new Promise((resolve) => setTimeout(resolve, 0));
      }
    }
    const fanning = (async () => {
      for (let n = 1; n <= 60; n++) await fanOut(other, names.map((name) => sampleDelivery(name, n)));
    })().finally(() => isFannedOut = true);
    await Promise.all([deliver(store()), deliver(other), fanning]);
    const all = names.flatMap((name) => Array.from({ length: 60 }, (_, n) => sampleDelivery(name, n + 1).id));
    assert.deepEqual(delivered.toSorted(), all.toSorted());
    assert.deepEqual(await leaseAll(store(), START_MS + 99_000), new Map());
    assert.deepEqual(await store().backlog(), { pending: 0, dead: 0, oldestCreatedAtMs: null });
  });
}

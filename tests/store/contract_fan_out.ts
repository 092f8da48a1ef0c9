import assert from "node:assert/strict";
import { test } from "node:test";
import { sampleEvent, samplePosition } from "./samples.ts";
import type { Subject } from "./store_contract.ts";
import {
  commitEvents,
  fanOut,
  leaseAll,
  poisoned,
  sampleDelivery,
  sampleSubscription,
  settlement,
  START_MS,
  subscribe,
} from "./webhook_samples.ts";

export function fanOutContract({ store, openAgain, isPersistent }: Subject): void {
  const due = async (subscriptionId: string, nowMs = START_MS, limit = 200, except?: Set<string>) =>
    await store().dueDeliveries({ subscriptionId, nowMs, limit, except });

  test("the fan-out cursor is undefined before its first commit, then what the last one said", async () => {
    assert.equal(await store().fanOutCursor(), undefined);
    const first = { position: samplePosition(1), subscriptionId: "wh_1", lastDueAtMs: 5 };
    assert.equal(await store().commitFanOut({ expected: undefined, cursor: first, deliveries: [] }), true);
    assert.deepEqual(await store().fanOutCursor(), first);
    const second = { position: samplePosition(1), subscriptionId: undefined, lastDueAtMs: 6 };
    assert.equal(await store().commitFanOut({ expected: first, cursor: second, deliveries: [] }), true);
    assert.deepEqual(await store().fanOutCursor(), { position: samplePosition(1), lastDueAtMs: 6 });
  });

  test("commitFanOut writes nothing when the cursor is not the expected one in each of its fields", async () => {
    await subscribe(store(), "wh_1");
    await commitEvents(store(), 1, 1);
    const cursor = { position: samplePosition(1), subscriptionId: "wh_0", lastDueAtMs: 5 };
    await store().commitFanOut({ expected: undefined, cursor, deliveries: [] });
    const wrong = [
      undefined,
      { ...cursor, position: samplePosition(0) },
      { ...cursor, subscriptionId: undefined },
      { ...cursor, lastDueAtMs: 4 },
    ];
    for (const expected of wrong) {
      const step = { expected, cursor: { position: "z", lastDueAtMs: 9 }, deliveries: [sampleDelivery("wh_1", 1)] };
      assert.equal(await store().commitFanOut(step), false);
    }
    assert.deepEqual(await store().fanOutCursor(), cursor);
    assert.deepEqual(await due("wh_1"), []);
    assert.equal((await store().backlog()).pending, 0);
    assert.equal(await store().nextDueAtMs(), undefined);
  });

  test("a fan-out that fails leaves nothing: no delivery, the cursor as it was", async () => {
    await subscribe(store(), "wh_1", "wh_2");
    await commitEvents(store(), 1, 3);
    await fanOut(store(), [], samplePosition(0));
    const before = await store().fanOutCursor();
    const deliveries = [
      sampleDelivery("wh_1", 1),
      sampleDelivery("wh_2", 2),
      poisoned(sampleDelivery("wh_1", 3), "attempts"),
    ];
    await assert.rejects(
      store().commitFanOut({ expected: before, cursor: { position: "z", lastDueAtMs: 1 }, deliveries }),
      /poisoned/,
    );
    assert.deepEqual(await store().fanOutCursor(), before);
    assert.deepEqual(await store().backlog(), { pending: 0, dead: 0, oldestCreatedAtMs: null });
    assert.deepEqual((await leaseAll(store())).size, 0);
    assert.deepEqual(await due("wh_1"), []);
  });

  test("of two fan-outs at once one commits", async () => {
    await subscribe(store(), "wh_1");
    await commitEvents(store(), 1, 40);
    const other = isPersistent ? await openAgain() : store();
    for (let n = 1; n <= 20; n++) {
      const expected = await store().fanOutCursor();
      const step = (id: string) => ({
        expected,
        cursor: { position: samplePosition(n), lastDueAtMs: START_MS },
        deliveries: [sampleDelivery("wh_1", n, { id })],
      });
      const outcomes = await Promise.all([
        store().commitFanOut(step(`a${n}`)),
        other.commitFanOut(step(`b${n}`)),
      ]);
      assert.deepEqual(outcomes.toSorted(), [false, true]);
    }
    assert.equal((await due("wh_1")).length, 20);
    assert.equal((await store().backlog("wh_1")).pending, 20);
  });

  test("a delivery whose id is there already is left as it is, pending or dead; one of a deleted subscription is passed over", async () => {
    await subscribe(store(), "wh_1", "wh_2");
    await commitEvents(store(), 1, 3);
    await fanOut(store(), [sampleDelivery("wh_1", 1), sampleDelivery("wh_1", 2)]);
    const lease = (await leaseAll(store())).get("wh_1")!;
    await store().settle([settlement(lease, 1, "retry", { number: 3 }), settlement(lease, 2, "dead", { number: 15 })]);
    await store().deleteSubscription("wh_2");
    const again = [1, 2, 3, 3].map((n) => sampleDelivery("wh_1", n));
    assert.equal(await fanOut(store(), [...again, sampleDelivery("wh_2", 3), sampleDelivery("wh_9", 3)]), true);
    assert.deepEqual(await store().backlog(), { pending: 2, dead: 1, oldestCreatedAtMs: START_MS });
    assert.deepEqual((await due("wh_1", START_MS + 10_000)).map(({ delivery }) => delivery), [
      sampleDelivery("wh_1", 3),
      sampleDelivery("wh_1", 1, { attempts: 3, dueAtMs: START_MS + 10_000 }),
    ]);
  });

  test("one id may stand in several subscriptions", async () => {
    await subscribe(store(), "wh_1", "wh_2");
    await commitEvents(store(), 1, 1);
    await fanOut(store(), ["wh_1", "wh_2"].map((id) => sampleDelivery(id, 1, { id: "same" })));
    assert.equal((await due("wh_1")).length, 1);
    assert.equal((await due("wh_2")).length, 1);
  });

  test("200 deliveries of 200 events to 200 subscriptions fit in one commit", async () => {
    const ids = Array.from({ length: 200 }, (_, n) => `wh_${String(n).padStart(22, "x")}`);
    for (const [n, id] of ids.entries()) {
      await store().insertSubscription(sampleSubscription(id, { keyId: `key-${n % 3}` }), 100);
    }
    await commitEvents(store(), 0, 199);
    const deliveries = ids.map((id, n) => sampleDelivery(id, n));
    await assert.rejects(fanOut(store(), [...deliveries, sampleDelivery(ids[0]!, 5)]), RangeError);
    assert.equal(await fanOut(store(), deliveries), true);
    assert.deepEqual(await store().backlog(), { pending: 200, dead: 0, oldestCreatedAtMs: START_MS });
    for (const [n, id] of ids.entries()) {
      assert.deepEqual(await due(id), [{ delivery: sampleDelivery(id, n), event: sampleEvent(n) }]);
    }
    assert.equal((await leaseAll(store())).size, 100);
    assert.equal((await leaseAll(store())).size, 100);
    assert.equal((await leaseAll(store())).size, 0);
    // Written again as a whole it changes nothing.
    assert.equal(await fanOut(store(), deliveries), true);
    assert.equal((await store().backlog()).pending, 200);
  });

  test("dueDeliveries answers what is due with its event, ascending by due time and then position", async () => {
    await subscribe(store(), "wh_1");
    await commitEvents(store(), 1, 6);
    const dueAt = [3, 1, 2, 1, 9, 1];
    const deliveries = dueAt.map((ms, index) => sampleDelivery("wh_1", index + 1, { dueAtMs: START_MS + ms }));
    await fanOut(store(), deliveries.toReversed());
    const order = [2, 4, 6, 3, 1];
    assert.deepEqual(
      await due("wh_1", START_MS + 3),
      order.map((n) => ({ delivery: deliveries[n - 1], event: sampleEvent(n) })),
    );
    assert.deepEqual(
      (await due("wh_1", START_MS + 2)).map(({ event }) => event.id),
      [2, 4, 6, 3].map((n) => `event-${n}`),
    );
    assert.deepEqual((await due("wh_1", START_MS + 9, 2)).map(({ event }) => event.id), ["event-2", "event-4"]);
    assert.deepEqual(await due("wh_1", START_MS), []);
    assert.deepEqual(await due("wh_2", START_MS + 9), []);
  });

  test("dueDeliveries leaves out those in `except`, some hundreds of them, and still fills its limit", async () => {
    await subscribe(store(), "wh_1");
    await commitEvents(store(), 0, 799);
    for (let n = 0; n < 800; n += 200) {
      await fanOut(store(), Array.from({ length: 200 }, (_, index) => sampleDelivery("wh_1", n + index)));
    }
    const except = new Set(Array.from({ length: 500 }, (_, n) => sampleDelivery("wh_1", n + 3).id));
    except.add("no such delivery");
    const found = await due("wh_1", START_MS, 200, except);
    assert.deepEqual(
      found.map(({ delivery }) => delivery.position),
      [0, 1, 2, ...Array.from({ length: 197 }, (_, n) => 503 + n)].map(samplePosition),
    );
    for (const limit of [0, 201]) await assert.rejects(due("wh_1", START_MS, limit), RangeError);
  });

  test("backlog counts what is pending and dead, of one and of all, and says when the oldest pending was created", async () => {
    await subscribe(store(), "wh_1", "wh_2", "wh_3");
    await commitEvents(store(), 1, 3);
    await fanOut(store(), [
      sampleDelivery("wh_1", 1, { createdAtMs: 30 }),
      sampleDelivery("wh_1", 2, { createdAtMs: 10, dueAtMs: START_MS + 5 }),
      sampleDelivery("wh_1", 3, { createdAtMs: 20 }),
      sampleDelivery("wh_2", 1, { createdAtMs: 15 }),
    ]);
    assert.deepEqual(await store().backlog(), { pending: 4, dead: 0, oldestCreatedAtMs: 10 });
    const leases = await leaseAll(store(), START_MS + 5);
    await store().settle([settlement(leases.get("wh_1")!, 2, "dead"), settlement(leases.get("wh_1")!, 3, "retry")]);
    assert.deepEqual(await store().backlog(), { pending: 3, dead: 1, oldestCreatedAtMs: 15 });
    assert.deepEqual(await store().backlog("wh_1"), { pending: 2, dead: 1, oldestCreatedAtMs: 20 });
    await store().settle([settlement(leases.get("wh_2")!, 1, "ended")]);
    assert.deepEqual(await store().backlog("wh_2"), { pending: 0, dead: 0, oldestCreatedAtMs: null });
    assert.deepEqual(await store().backlog("wh_3"), { pending: 0, dead: 0, oldestCreatedAtMs: null });
    assert.deepEqual(await store().backlog("wh_9"), { pending: 0, dead: 0, oldestCreatedAtMs: null });
    assert.deepEqual(await store().backlog(), { pending: 2, dead: 1, oldestCreatedAtMs: 20 });
  });
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { sampleEvent, samplePosition, sampleState, sampleUndecoded } from "./samples.ts";
import type { Subject } from "./store_contract.ts";
import { fanOut, leaseAll, sampleDelivery, settlement, START_MS, subscribe } from "./webhook_samples.ts";

/** Later than any sample closed. */
const LATER = "2026-12-01T00:00:00Z";

export function lateEventContract({ store, openAgain, isPersistent }: Subject): void {
  /** Commits these events as scanned up to ledger 1 000 + `scanned`. */
  const commit = async (numbers: number[], scanned: number) =>
    await store().commitEvents({ events: numbers.map((n) => sampleEvent(n)), state: sampleState(1_000 + scanned) });
  const late = async () => (await store().lateEvents(100)).map(({ event }) => event);
  const at = (n: number, subscriptionId?: string) => ({ position: samplePosition(n), subscriptionId });

  test("nothing is late before fan-out has begun, nor what follows it, nor what is known", async () => {
    await commit([1, 3], 3);
    await commit([2], 3);
    assert.deepEqual(await late(), []);
    await fanOut(store(), [], samplePosition(3));
    await commit([1, 2, 3, 4, 5], 5);
    assert.deepEqual(await late(), []);
  });

  test("a decoded event that becomes known behind the fan-out cursor is late, ascending and with every field", async () => {
    await commit([2, 4], 4);
    await fanOut(store(), [], samplePosition(4));
    const full = sampleEvent(3, {
      type: "payment.authorized",
      deviceHash: "d",
      agent: "GA",
      merchant: "GM",
      amount: "7",
    });
    const events = [sampleUndecoded(0), sampleEvent(1), sampleEvent(2), full, sampleEvent(4), sampleEvent(5)];
    await store().commitEvents({ events, state: sampleState(1_005) });
    assert.deepEqual(await store().lateEvents(100), [{ event: sampleEvent(1) }, { event: full }]);
    assert.deepEqual(await store().lateEvents(1), [{ event: sampleEvent(1) }]);
    for (const limit of [0, 101]) await assert.rejects(store().lateEvents(limit), RangeError);
  });

  test("what a cursor has begun on is not behind it", async () => {
    await commit([2], 2);
    const cursor = { position: samplePosition(2), subscriptionId: "wh_1", lastDueAtMs: 1 };
    await store().commitFanOut({ expected: undefined, cursor, deliveries: [] });
    await commit([1], 2);
    assert.deepEqual(await late(), [sampleEvent(1)]);
  });

  test("an undecoded event behind the cursor is late once it is decoded, and only once", async () => {
    await store().commitEvents({ events: [sampleUndecoded(1), sampleUndecoded(3)], state: sampleState(1_003) });
    await fanOut(store(), [], samplePosition(2));
    assert.deepEqual(await late(), []);
    const other = isPersistent ? await openAgain() : store();
    await Promise.all([store(), other].map((by) => by.decodeEvents([sampleEvent(1), sampleEvent(3)])));
    assert.deepEqual(await late(), [sampleEvent(1)]);
    assert.equal(await store().commitLateEvents({ events: [at(1)], deliveries: [] }), true);
    await store().decodeEvents([sampleEvent(1), sampleUndecoded(3)]);
    await commit([1, 3], 3);
    assert.deepEqual(await late(), []);
  });

  test("what may be new after the cursor in ledgers that were scanned makes fan-out go back to it", async () => {
    await commit([2], 2);
    assert.equal(await store().fanOutCursor(), undefined, "new ledgers do not");
    await commit([1], 2);
    assert.deepEqual(await store().fanOutCursor(), { position: "", lastDueAtMs: 0, rereads: 1 });
    await fanOut(store(), [], samplePosition(2));
    const cursor = { position: samplePosition(2), lastDueAtMs: START_MS };
    assert.deepEqual(await store().fanOutCursor(), cursor);
    await commit([1, 2], 2);
    assert.deepEqual(await store().fanOutCursor(), cursor, "what is known does not");
    await commit([], 1);
    assert.deepEqual(await store().fanOutCursor(), { ...cursor, rereads: 1 });
    await store().commitEvents({ events: [sampleUndecoded(3)], state: sampleState(1_003) });
    await store().decodeEvents([sampleEvent(3)]);
    assert.deepEqual(await store().fanOutCursor(), { ...cursor, rereads: 2 });
    await store().commitEvents({ events: [], state: sampleState(5, { epoch: 2 }) });
    assert.deepEqual(await store().fanOutCursor(), { ...cursor, rereads: 2 }, "a new epoch does not");
    const step = { expected: { ...cursor, rereads: 1 }, cursor, deliveries: [] };
    assert.equal(await store().commitFanOut(step), false);
  });

  test("commitLateEvents adds deliveries, and the events are late no more", async () => {
    await subscribe(store(), "wh_1", "wh_2");
    await fanOut(store(), [], samplePosition(9));
    await commit([1, 2, 3, 4], 9);
    const deliveries = [sampleDelivery("wh_1", 1), sampleDelivery("wh_2", 1), sampleDelivery("wh_gone", 2)];
    assert.equal(await store().commitLateEvents({ events: [at(1), at(2)], deliveries }), true);
    assert.deepEqual(await late(), [sampleEvent(3), sampleEvent(4)]);
    assert.equal((await store().backlog()).pending, 2);
    const lease = (await leaseAll(store())).get("wh_1")!;
    await store().settle([settlement(lease, 1, "delivered")]);
    await commit([1, 2, 3, 4], 9);
    assert.deepEqual(await late(), [sampleEvent(3), sampleEvent(4)]);
    assert.equal((await store().backlog("wh_1")).pending, 0);
  });

  test("commitLateEvents leaves the last event late from begunUpTo on", async () => {
    await subscribe(store(), "wh_1", "wh_2");
    await fanOut(store(), [], samplePosition(9));
    await commit([1, 2], 9);
    const deliveries = [sampleDelivery("wh_1", 1), sampleDelivery("wh_1", 2)];
    assert.equal(await store().commitLateEvents({ events: [at(1), at(2)], begunUpTo: "wh_1", deliveries }), true);
    assert.deepEqual(await store().lateEvents(9), [{ event: sampleEvent(2), subscriptionId: "wh_1" }]);
    const rest = { events: [at(2, "wh_1")], deliveries: [sampleDelivery("wh_2", 2)] };
    assert.equal(await store().commitLateEvents(rest), true);
    assert.deepEqual(await late(), []);
    assert.equal((await store().backlog()).pending, 3);
  });

  test("commitLateEvents writes nothing when one of its events is not as expected", async () => {
    await subscribe(store(), "wh_1");
    await fanOut(store(), [], samplePosition(9));
    await commit([1, 2], 9);
    await store().commitLateEvents({ events: [at(1)], begunUpTo: "wh_0", deliveries: [] });
    for (const wrong of [at(1), at(1, "wh_1"), at(2, "wh_0"), at(3)]) {
      const step = { events: [at(2), wrong], deliveries: [sampleDelivery("wh_1", 1)] };
      assert.equal(await store().commitLateEvents(step), false);
    }
    assert.equal((await store().lateEvents(9)).length, 2);
    assert.equal((await store().backlog()).pending, 0);
  });

  test("of two who hand on the same late event, one does", async () => {
    await subscribe(store(), "wh_1");
    await fanOut(store(), [], samplePosition(9));
    const other = isPersistent ? await openAgain() : store();
    for (let n = 1; n <= 9; n++) {
      await commit([n], 9);
      const step = { events: [at(n)], deliveries: [sampleDelivery("wh_1", n)] };
      const done = await Promise.all([store(), other].map((by) => by.commitLateEvents(step)));
      assert.deepEqual(done.sort(), [false, true]);
    }
    assert.equal((await store().backlog()).pending, 9);
  });

  test("a step through late events may have 100 of them and 200 deliveries, and no more", async () => {
    await subscribe(store(), "wh_1");
    await fanOut(store(), [], samplePosition(999));
    await commit(Array.from({ length: 100 }, (_, n) => n), 999);
    await commit([100], 999);
    const events = Array.from({ length: 101 }, (_, n) => at(n));
    const deliveries = Array.from({ length: 201 }, (_, n) => sampleDelivery("wh_1", n % 100, { id: `delivery ${n}` }));
    await assert.rejects(store().commitLateEvents({ events, deliveries: [] }), RangeError);
    await assert.rejects(store().commitLateEvents({ events: [at(1)], deliveries }), RangeError);
    const step = { events: events.slice(0, 100), deliveries: deliveries.slice(0, 200) };
    assert.equal(await store().commitLateEvents(step), true);
    assert.deepEqual(await late(), [sampleEvent(100)]);
    assert.equal((await store().backlog()).pending, 200);
  });

  test("pruneEvents keeps late events until they are handed on", async () => {
    await commit([3], 3);
    await fanOut(store(), [], samplePosition(3));
    await commit([1, 2], 3);
    assert.equal(await store().pruneEvents(LATER), 1);
    assert.deepEqual(await late(), [sampleEvent(1), sampleEvent(2)]);
    await store().commitLateEvents({ events: [at(1), at(2)], deliveries: [] });
    // The first call ends at the end, the next one begins anew.
    for (let calls = 0; calls < 2; calls++) await store().pruneEvents(LATER);
    assert.deepEqual(await store().readEvents({ limit: 9 }), []);
  });

  test("an event that was forgotten and is read again is not late, nor is any before it", async () => {
    await commit([2, 3, 4], 4);
    await fanOut(store(), [], samplePosition(9));
    await store().pruneEvents(LATER);
    await commit([1, 2, 3, 4, 5], 9);
    assert.deepEqual(await late(), [sampleEvent(5)]);
  });
}

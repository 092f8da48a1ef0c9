// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_COUNTED } from "../../lib/store/event.ts";
import type { Store } from "../../lib/store/store.ts";
import type { Subscription } from "../../lib/store/webhook.ts";
import { nextAttempt } from "../../lib/webhooks/delivery/schedule.ts";
import { beginReplay, planReplay } from "../../lib/webhooks/replays.ts";
import { workerStage } from "./delivery/worker_stage.ts";
import { append, eventAt, idsAt, insert, memoryStore, owedTo, START_MS, subscriptionOf } from "./parts.ts";

const plan = (store: Store, subscription: Subscription, fromLedger: number, toLedger?: number) =>
  planReplay(store, subscription, { fromLedger, toLedger });

/** A store with one event in each ledger from 101 on, every third of another type; the watcher is 100 ledgers further. */
async function history(ledgers = 3_000): Promise<Store> {
  const store = await memoryStore();
  const type = (n: number) => n % 3 === 0 ? "escrow.swept" : "escrow.funded";
  await append(store, Array.from({ length: ledgers }, (_, n) => eventAt(101 + n, 1, { type: type(n) })), 200 + ledgers);
  return store;
}

async function begin(store: Store, subscription: Subscription, fromLedger: number, toLedger?: number, id = "rp_1") {
  const planned = await plan(store, subscription, fromLedger, toLedger);
  return await beginReplay(store, subscription.id, planned, { id, nowMs: START_MS });
}

const replayOf = async (store: Store, id: string) => (await store.deliveries.consumer(id))!.replay;

test("a plan counts the events of the webhook's filter in its ledgers, both ends included", async () => {
  const store = await history();
  const all = subscriptionOf("wh_1");
  const swept = subscriptionOf("wh_2", { types: ["escrow.swept"] });
  assert.equal((await plan(store, all, 1)).deliveries, 3_000);
  assert.equal((await plan(store, all, 101, 101)).deliveries, 1);
  assert.equal((await plan(store, all, 102, 104)).deliveries, 3);
  assert.equal((await plan(store, swept, 101, 107)).deliveries, 3);
  assert.equal((await plan(store, subscriptionOf("wh_3", { merchant: "GA" }), 1)).deliveries, 0);
  assert.equal((await plan(store, all, 1)).atLeast, false);
});

test("a plan counts late events by their ledger", async () => {
  const store = await history(100);
  await append(store, [eventAt(150, 2), eventAt(120, 2)], 400);
  const all = subscriptionOf("wh_1");
  assert.equal((await plan(store, all, 120, 120)).deliveries, 2);
  assert.equal((await plan(store, all, 121, 149)).deliveries, 29);
  assert.equal((await plan(store, all, 150, 200)).deliveries, 52);
});

test("a plan counts a large replay up to a limit, and reports atLeast", async () => {
  const store = await history(10_500);
  const { deliveries, atLeast } = await plan(store, subscriptionOf("wh_1"), 1);
  assert.deepEqual([deliveries, atLeast], [MAX_COUNTED, true]);
});

test("a plan ends at the last scanned ledger", async () => {
  const store = await history();
  assert.equal((await plan(store, subscriptionOf("wh_1"), 3_099, 4_000_000)).deliveries, 2);
  assert.equal((await plan(store, subscriptionOf("wh_1"), 3_201)).deliveries, 0);
  assert.equal((await plan(store, subscriptionOf("wh_1"), 3_099, 0xffff_ffff)).deliveries, 2);
  assert.equal((await plan(await memoryStore(), subscriptionOf("wh_1"), 1)).deliveries, 0);
  await assert.rejects(plan(store, subscriptionOf("wh_1"), 10, 9), /toLedger must not be before fromLedger 10, got 9/);
});

test("a replay sends its planned deliveries in the order of the log, beside new events, and ends", async () => {
  const store = await history();
  const swept = subscriptionOf("wh_1", { types: ["escrow.swept"] });
  await insert(store, swept);
  const { deliveries } = await begin(store, swept, 101, 400);
  await using made = await workerStage(() => "delivered", { on: store });
  await append(store, [eventAt(9_000, 1, { type: "escrow.swept" })], 9_000);
  made.worker.wake();
  await made.pass(1_000);
  const replayed = made.postedTo("wh_1").filter(({ replayId }) => replayId === "rp_1");
  assert.equal(replayed.length, deliveries);
  assert.deepEqual(
    replayed.map(({ eventId }) => eventId),
    Array.from({ length: 100 }, (_, n) => eventAt(101 + 3 * n).id),
  );
  assert.equal(made.postedTo("wh_1").length, deliveries + 1);
  assert.equal(await replayOf(store, "wh_1"), null);
});

test("a replay closes the gap between the last scanned ledger and a new webhook's first ledger", async () => {
  const store = await history();
  // The watcher is at ledger 3 200 when the webhook is created at 3 203.
  const late = subscriptionOf("wh_1", { startHeight: 3_204 });
  await insert(store, late);
  assert.notEqual((await plan(store, late, 3_150, 3_160)).endSequence, null);
  const { endSequence, deliveries } = await begin(store, late, 3_100);
  assert.deepEqual([endSequence, deliveries], [null, 1]);
  await using made = await workerStage(() => "delivered", { on: store });
  await made.pass(2_000, 50);
  assert.equal(made.script.posted.length, 1);
  assert.notEqual(await replayOf(store, "wh_1"), null, "the rest is not held yet");
  await append(store, [3_201, 3_202, 3_203, 3_204].map((ledger) => eventAt(ledger)), 3_204);
  made.worker.wake();
  await made.pass(4_000, 50);
  const ids = made.script.posted.map(({ eventId }) => eventId).sort();
  assert.deepEqual(ids, idsAt(3_100, 3_201, 3_202, 3_203, 3_204));
  assert.equal(await replayOf(store, "wh_1"), null);
});

test("a replay without deliveries creates no job", async () => {
  const store = await history();
  await insert(store, subscriptionOf("wh_1"));
  await begin(store, subscriptionOf("wh_1"), 3_150);
  assert.equal(await replayOf(store, "wh_1"), null);
});

test("a webhook has one replay at a time, and replays of many webhooks run concurrently", async () => {
  const store = await history(300);
  const ids = Array.from({ length: 120 }, (_, n) => `wh_${n}`);
  await insert(store, ...ids.map((id) => subscriptionOf(id)));
  for (const id of ids) await begin(store, subscriptionOf(id), 1, 150, `rp_${id}`);
  await assert.rejects(begin(store, subscriptionOf("wh_0"), 1), /a replay of wh_0 is under way/);
  await using made = await workerStage(() => "delivered", { on: store });
  await made.pass(5_000, 20);
  for (const id of ids) assert.equal(made.postedTo(id).length, 50, id);
});

test("a replay continues after a stop without repeated deliveries", async () => {
  const store = await history(600);
  await insert(store, subscriptionOf("wh_1"));
  await begin(store, subscriptionOf("wh_1"), 1);
  const posted: string[] = [];
  for (let starts = 0; starts < 8; starts++) {
    await using made = await workerStage(({ eventId }) => {
      posted.push(eventId);
      return "delivered";
    }, { on: store });
    await made.pass(30);
  }
  assert.equal(new Set(posted).size, 600);
  assert.equal(posted.length, 600, "what was written down is not repeated");
  assert.equal(await replayOf(store, "wh_1"), null);
});

test("a rejected replay delivery counts as rejected, and a later successful one clears it", async () => {
  const store = await history(3);
  await insert(store, subscriptionOf("wh_1"));
  let outcome: "rejected" | "delivered" = "rejected";
  await using made = await workerStage(() => outcome, { on: store });
  await made.pass(50);
  await begin(store, subscriptionOf("wh_1"), 101, 102);
  await made.worker.changed("wh_1");
  await made.pass(100);
  assert.equal((await store.deliveries.consumer("wh_1"))!.progress.rejected, 2);
  outcome = "delivered";
  await begin(store, subscriptionOf("wh_1"), 101, 102, "rp_2");
  await made.worker.changed("wh_1");
  await made.pass(100);
  assert.equal((await store.deliveries.consumer("wh_1"))!.progress.rejected, 0);
  assert.equal((await owedTo(store, "wh_1")).pending, 0);
});

test("a failed replay delivery of a four-day-old event is retried, a pending delivery of that age is dead", async () => {
  const store = await memoryStore();
  await insert(store, subscriptionOf("wh_1"));
  await append(store, Array.from({ length: 6 }, (_, n) => eventAt(101 + n)), 9_000, START_MS + 4 * 86_400_000);
  await insert(store, subscriptionOf("wh_2"));
  await begin(store, subscriptionOf("wh_2"), 101);
  const unavailable = { statusCode: 503 };
  await using made = await workerStage(
    ({ attempt, ageMs, atMs }) =>
      nextAttempt({ attempt, result: unavailable, nowMs: atMs, ageMs, random: () => 0.5 }).outcome,
    { on: store },
  );
  await made.pass(20_000, 50);
  const { progress: replayed } = (await store.deliveries.consumer("wh_2"))!;
  assert.equal(replayed.dead, 0);
  assert.ok(replayed.retrying > 0);
  const { progress: owed } = (await store.deliveries.consumer("wh_1"))!;
  assert.deepEqual([owed.dead > 0, owed.retrying], [true, 0]);
});

test("a replay ends with the deletion of its webhook", async () => {
  const store = await history();
  await insert(store, subscriptionOf("wh_1"));
  await begin(store, subscriptionOf("wh_1"), 1);
  await using made = await workerStage(() => "delivered", { on: store });
  await made.pass(20);
  await store.subscriptions.delete("wh_1");
  await made.worker.changed("wh_1");
  const posted = made.script.posted.length;
  await made.pass(2_000, 50);
  assert.ok(made.script.posted.length - posted <= 16);
  assert.deepEqual(made.problems, []);
});

test("a plan includes the ledger that the watcher commits during the planning", async () => {
  const store = await memoryStore();
  await append(store, [eventAt(101), eventAt(102)], 102);
  const events = Object.create(store.events, {
    watcherState: {
      async value() {
        // The store answers concurrent reads first.
        await store.events.bounds();
        await append(store, [eventAt(103)], 110);
        return await store.events.watcherState();
      },
    },
  });
  // The webhook gets events after ledger 110 without a replay.
  const subscription = subscriptionOf("wh_1", { startHeight: 111 });
  const { deliveries, endSequence } = await planReplay({ events }, subscription, { fromLedger: 101 });
  assert.deepEqual({ deliveries, endSequence }, { deliveries: 3, endSequence: 3 });
});

test("a plan includes the part of a ledger that was stored before the webhook's creation", async () => {
  const store = await memoryStore();
  // A ledger of more events than fit into one commit: the watcher has not scanned it yet.
  await append(store, [eventAt(101), eventAt(103), eventAt(103, 2)], 101);
  const subscription = subscriptionOf("wh_1", { startHeight: 103 });
  const { toHeight, endSequence, deliveries } = await planReplay(store, subscription, { fromLedger: 101 });
  assert.deepEqual({ toHeight, endSequence, deliveries }, { toHeight: 103, endSequence: null, deliveries: 3 });
  const few = await planReplay(store, subscription, { fromLedger: 101, toLedger: 102 });
  assert.deepEqual([few.toHeight, few.deliveries], [102, 1]);
});

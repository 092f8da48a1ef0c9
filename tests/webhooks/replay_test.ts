import assert from "node:assert/strict";
import { test } from "node:test";
import { endOfLedger } from "../../lib/events/position.ts";
import type { Store } from "../../lib/store/store.ts";
import type { Subscription } from "../../lib/store/webhook_store.ts";
import { beginReplay, planReplay } from "../../lib/webhooks/replays/replay.ts";
import { createReplayer } from "../../lib/webhooks/replays/replayer.ts";
import { commitEvents, eventAt, insert, memoryStore, pendingOf, START_MS, subscriptionOf } from "./parts.ts";

const now = () => START_MS;
const plan = (store: Store, subscription: Subscription, fromLedger: number, toLedger?: number) =>
  planReplay({ store, endOfLedger }, subscription, { fromLedger, toLedger });

/** 3 000 ledgers from 101 on, one event in each, every third of another type. */
async function history(): Promise<Store> {
  const store = await memoryStore();
  const type = (n: number) => n % 3 === 0 ? "escrow.swept" : "escrow.funded";
  await commitEvents(store, Array.from({ length: 3_000 }, (_, n) => eventAt(101 + n, 1, { type: type(n) })), 3_200);
  return store;
}

async function begin(store: Store, subscription: Subscription, fromLedger: number, toLedger?: number, id = "rp_1") {
  return await beginReplay(store, subscription.id, await plan(store, subscription, fromLedger, toLedger), {
    id,
    nowMs: START_MS,
  });
}

test("a plan counts what the subscription's filter lets through in these ledgers, both ends included", async () => {
  const store = await history();
  const all = subscriptionOf("wh_1");
  const swept = subscriptionOf("wh_2", { types: ["escrow.swept"] });
  assert.equal((await plan(store, all, 1)).deliveries, 3_000);
  assert.equal((await plan(store, all, 101, 101)).deliveries, 1);
  assert.equal((await plan(store, all, 102, 104)).deliveries, 3);
  assert.equal((await plan(store, swept, 101, 107)).deliveries, 3);
  assert.equal((await plan(store, subscriptionOf("wh_3", { merchant: "GA" }), 1)).deliveries, 0);
});

test("a plan ends where the ledgers held end", async () => {
  const store = await history();
  const { upToPosition, deliveries } = await plan(store, subscriptionOf("wh_1"), 3_099, 4_000_000);
  assert.deepEqual([upToPosition, deliveries], [endOfLedger(0, 3_200), 2]);
  assert.equal((await plan(store, subscriptionOf("wh_1"), 3_201)).deliveries, 0);
  assert.equal((await plan(store, subscriptionOf("wh_1"), 3_099, 0xffff_ffff)).deliveries, 2);
  assert.equal((await plan(await memoryStore(), subscriptionOf("wh_1"), 1)).deliveries, 0);
});

test("a replay closes the gap between the ledgers held and those that a new subscription hears by itself", async () => {
  const store = await history();
  // The watcher has come to ledger 3 200 when it is created at 3 203.
  const late = subscriptionOf("wh_1", { startPosition: endOfLedger(0, 3_203) });
  await insert(store, late);
  assert.equal((await plan(store, late, 3_150, 3_160)).upToPosition, endOfLedger(0, 3_160));
  const { upToPosition, deliveries } = await begin(store, late, 3_100);
  assert.deepEqual([upToPosition, deliveries], [endOfLedger(0, 3_203), 1]);
  const round = createReplayer({ store, endOfLedger, now, onDeliveries: () => {} });
  while (await round() === "moved");
  assert.equal((await store.backlog("wh_1")).pending, 1);
  assert.equal(await round(), "waiting");
  await commitEvents(store, [3_201, 3_202, 3_203, 3_204].map((ledger) => eventAt(ledger)), 3_204);
  while (await round() !== "idle");
  const owed = (await pendingOf(store, "wh_1")).map(({ position }) => position);
  assert.deepEqual(owed, [3_100, 3_201, 3_202, 3_203].map((ledger) => eventAt(ledger).position));
});

test("a replay of such ledgers alone is begun though none of them is held", async () => {
  const store = await history();
  const late = subscriptionOf("wh_1", { startPosition: endOfLedger(0, 3_203) });
  await insert(store, late);
  assert.equal((await begin(store, late, 3_202)).deliveries, 0);
  assert.equal((await store.listReplays(10)).length, 1);
});

test("with nothing to send there is no job", async () => {
  const store = await history();
  await insert(store, subscriptionOf("wh_1"));
  await begin(store, subscriptionOf("wh_1"), 3_150);
  assert.deepEqual(await store.listReplays(10), []);
});

test("a replay owes as many deliveries as it said, in the ledger's order, and ends", async () => {
  const store = await history();
  const swept = subscriptionOf("wh_1", { types: ["escrow.swept"] });
  await insert(store, swept);
  const { deliveries } = await begin(store, swept, 101, 400);
  const round = createReplayer({ store, endOfLedger, now, onDeliveries: () => {} });
  assert.equal(await round(), "moved");
  assert.equal(await round(), "idle");
  const pending = await pendingOf(store, "wh_1");
  assert.equal(pending.length, deliveries);
  assert.deepEqual(
    pending.map(({ position }) => position),
    Array.from({ length: 100 }, (_, n) => eventAt(101 + 3 * n).position),
  );
  assert.ok(
    pending.every(({ id, position }) => id === `${position}:rp_1`),
    "apart from the live delivery of the event",
  );
});

test("a replay waits while a thousand deliveries are pending, and goes on when they are made", async () => {
  const store = await history();
  await insert(store, subscriptionOf("wh_1"), subscriptionOf("wh_2"));
  await begin(store, subscriptionOf("wh_1"), 1);
  await begin(store, subscriptionOf("wh_2"), 1, 300, "rp_2");
  const told: string[] = [];
  const round = createReplayer({ store, endOfLedger, now, onDeliveries: (ids) => told.push(...ids) });
  for (let n = 0; n < 5; n++) assert.equal(await round(), "moved");
  assert.equal(await round(), "waiting");
  assert.equal((await store.backlog("wh_1")).pending, 1_000);
  assert.equal((await store.backlog("wh_2")).pending, 200, "another one is not kept waiting by it");
  assert.deepEqual(told, ["wh_1", "wh_2", "wh_1", "wh_1", "wh_1", "wh_1"]);
  const [lease] = await store.leaseSubscriptions({ nowMs: START_MS, leaseMs: 1_000, limit: 1 });
  const due = await store.dueDeliveries({ subscriptionId: "wh_1", nowMs: START_MS, limit: 100 });
  await store.settle(due.map(({ delivery, event }) => ({
    lease: lease!,
    deliveryId: delivery.id,
    attempt: {
      id: delivery.id,
      subscriptionId: "wh_1",
      deliveryId: delivery.id,
      eventId: event.id,
      eventType: event.type!,
      number: 1,
      atMs: START_MS,
      durationMs: 1,
      outcome: "delivered" as const,
      statusCode: 200,
      error: null,
      responseBody: null,
      nextAttemptAtMs: null,
    },
  })));
  assert.equal(await round(), "moved");
  assert.equal((await store.backlog("wh_1")).pending, 1_100);
});

test("a step that is repeated after a crash owes nothing twice", async () => {
  const store = await history();
  await insert(store, subscriptionOf("wh_1"));
  await begin(store, subscriptionOf("wh_1"), 1, 500);
  let count = 0;
  const cutOff: Store = Object.create(store, {
    commitReplay: {
      value: async (step: Parameters<Store["commitReplay"]>[0]) => {
        const done = await store.commitReplay(step);
        if (count++ % 2 === 0) throw new Error("cut off after it was written");
        return done;
      },
    },
  });
  for (let isIdle = false; !isIdle;) {
    const round = createReplayer({ store: cutOff, endOfLedger, now, onDeliveries: () => {} });
    isIdle = await round().then((came) => came === "idle", () => false);
  }
  assert.equal((await store.backlog("wh_1")).pending, 400);
});

test("a replay of a subscription that was deleted ends with it", async () => {
  const store = await history();
  await insert(store, subscriptionOf("wh_1"));
  await begin(store, subscriptionOf("wh_1"), 1);
  await store.subscriptions.delete("wh_1");
  const round = createReplayer({ store, endOfLedger, now, onDeliveries: () => {} });
  while (await round() !== "idle");
  assert.equal((await store.backlog()).pending, 0);
});

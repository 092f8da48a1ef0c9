import assert from "node:assert/strict";
import { test } from "node:test";
import { endOfLedger } from "../../lib/events/position.ts";
import { createFanOut } from "../../lib/webhooks/delivery/fan_out.ts";
import { createRetention } from "../../lib/webhooks/retention.ts";
import { createSubscriptionSet } from "../../lib/webhooks/delivery/subscription_set.ts";
import { commitEvents, eventAt, insert, memoryStore, START_MS, subscriptionOf } from "./parts.ts";

const DAY_MS = 86_400_000;
const signal = new AbortController().signal;

/** 1 000 events, one a day, of which every hundredth is owed to somebody; and an attempt on each of 300 days. */
async function fixture() {
  const store = await memoryStore();
  await insert(store, subscriptionOf("wh_1", { types: ["escrow.swept"] }));
  const events = Array.from({ length: 1_000 }, (_, n) =>
    eventAt(101 + n, 1, {
      type: n % 100 === 0 ? "escrow.swept" : "escrow.funded",
      ledgerClosedAt: `${new Date(START_MS + n * DAY_MS).toISOString().slice(0, 19)}Z`,
    }));
  await commitEvents(store, events, 1_100);
  const fanOut = createFanOut({
    store,
    subscriptions: createSubscriptionSet(store),
    endOfLedger,
    now: () => START_MS,
    onDeliveries: () => {},
  });
  while (await fanOut.step(signal));
  for (let n = 0; n < 300; n++) {
    await store.recordAttempt({
      id: String(n).padStart(5, "0"),
      subscriptionId: "wh_1",
      deliveryId: null,
      eventId: "e",
      eventType: "webhook.test",
      number: 1,
      atMs: START_MS + n * DAY_MS,
      durationMs: 1,
      outcome: "delivered",
      statusCode: 200,
      error: null,
      responseBody: null,
      nextAttemptAtMs: null,
    });
  }
  return store;
}

test("old events and attempts are forgotten, what is still owed is not", async () => {
  const store = await fixture();
  const now = () => START_MS + 600 * DAY_MS;
  await createRetention({ store, now, historyDays: 100, attemptDays: 400 }).prune(signal);
  const left = await store.readEvents({ limit: 1_000 });
  const old = left.filter(({ ledgerClosedAt }) => Date.parse(ledgerClosedAt) < START_MS + 500 * DAY_MS);
  assert.deepEqual(old.map(({ ledger }) => ledger), [101, 201, 301, 401, 501]);
  assert.equal((await store.backlog()).pending, 10);
  assert.equal(left.length, 5 + 500);
  const attempts = await store.listAttempts("wh_1", { limit: 200 });
  assert.equal(attempts.length, 100);
});

test("0 days keep everything", async () => {
  const store = await fixture();
  const now = () => START_MS + 100_000 * DAY_MS;
  await createRetention({ store, now, historyDays: 0, attemptDays: 0 }).prune(signal);
  assert.equal((await store.readEvents({ limit: 1_000 })).length, 1_000);
  assert.equal((await store.listAttempts("wh_1", { limit: 200 })).length, 200);
});

test("what a deleted subscription leaves behind is removed", async () => {
  const store = await fixture();
  await store.subscriptions.delete("wh_1");
  await createRetention({ store, now: () => START_MS, historyDays: 0, attemptDays: 0 }).purge(signal);
  assert.equal(await store.subscriptions.purgeDeleted(), false);
  await createRetention({ store, now: () => START_MS + 5_000 * DAY_MS, historyDays: 1, attemptDays: 0 }).prune(signal);
  assert.equal((await store.readEvents({ limit: 1_000 })).filter(({ type }) => type === "escrow.swept").length, 0);
});

test("a round that is told to stop stops", async () => {
  const store = await fixture();
  const now = () => START_MS + 5_000 * DAY_MS;
  await createRetention({ store, now, historyDays: 1, attemptDays: 1 }).prune(AbortSignal.abort());
  assert.equal((await store.readEvents({ limit: 1_000 })).length, 1_000);
});

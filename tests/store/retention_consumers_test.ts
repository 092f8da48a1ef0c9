// needs: neutral
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { openStore } from "../../lib/store/open.ts";
import { createRetention } from "../../lib/store/retention.ts";
import type { Store } from "../../lib/store/store.ts";
import { append, appendMany, sampleEvent, scanned } from "./samples.ts";
import { endedOf, progressOf, sampleFailed, settle, START_MS, subscribe } from "./webhook_samples.ts";

/** Forty days after the events closed. The job keeps thirty days. */
const NOW_MS = START_MS + 40 * 86_400_000;
const idsOf = (count: number) => Array.from({ length: count }, (_, n) => `wh_${String(n).padStart(3, "0")}`);

let store: Store;
beforeEach(async () => {
  store = await openStore("memory:");
});
afterEach(() => store.close());

const scanUntilNow = () => scanned(store, 1_400, { latestLedgerCloseTime: NOW_MS / 1_000 });

/** Runs the job once, with this function instead of the store's `forget`. */
async function runJob(forget: Store["events"]["forget"] = store.events.forget): Promise<void> {
  const events = { ...store.events, forget };
  const options = { holder: "h", now: () => NOW_MS, historyDays: 30, attemptDays: 0 };
  await createRetention({ store: { ...store, events }, ...options })(new AbortController().signal);
}

test("more than a hundred consumers each count their undelivered events as dead, even if some move meanwhile", async () => {
  const ids = idsOf(150);
  await subscribe(store, ...ids);
  await appendMany(store, 1, 300);
  await scanUntilNow();
  let calls = 0;
  await runJob(async (step) => {
    // The last consumer gets its first event just before the commit of the second hundred.
    if (++calls === 2) await settle(store, { subscriptionId: ids.at(-1)!, cursor: 1 });
    return await store.events.forget(step);
  });
  assert.deepEqual(await store.events.bounds(), { last: 300, forgotten: 300 });
  const consumers = await store.deliveries.consumers({ limit: 500 });
  assert.deepEqual(consumers.map(({ progress }) => progress.dead), [...Array(149).fill(300), 299]);
});

test("deliveries that fail during the steps of more than a hundred consumers count once", async () => {
  const ids = idsOf(150);
  await subscribe(store, ...ids);
  await appendMany(store, 1, 5);
  await scanUntilNow();
  await runJob(async (step) => {
    const isForgotten = await store.events.forget(step);
    // The deliveries of the named consumers are in flight, and fail.
    const failed = [1, 2, 3, 4, 5].map((sequence) => sampleFailed(sequence, "retrying"));
    if (!step.areMore) { for (const subscriptionId of ids) await settle(store, { subscriptionId, cursor: 5, failed }); }
    return isForgotten;
  });
  const consumers = await store.deliveries.consumers({ limit: 500 });
  const counts = consumers.map(({ progress: { retrying, dead } }) => `${retrying},${dead}`);
  assert.deepEqual(new Set(counts), new Set(["0,5"]));
});

test("one commit deletes at most 5000 failed deliveries of 250 consumers", async () => {
  const ids = idsOf(250);
  await subscribe(store, ...ids);
  await appendMany(store, 1, 100);
  await scanUntilNow();
  const failed = Array.from({ length: 100 }, (_, n) => sampleFailed(n + 1, "dead"));
  for (const subscriptionId of ids) await settle(store, { subscriptionId, cursor: 100, failed });
  const kept = async () => {
    const left = await Promise.all(ids.map((subscriptionId) => endedOf(store, { subscriptionId, limit: 200 })));
    return left.reduce((sum, { length }) => sum + length, 0);
  };
  let most = 0;
  await runJob(async (step) => {
    const before = await kept();
    const isForgotten = await store.events.forget(step);
    most = Math.max(most, before - await kept());
    return isForgotten;
  });
  assert.equal(await kept(), 0);
  assert.ok(most > 0 && most <= 5_000, `${most} in one commit`);
});

test("the job does not delete old events that are appended meanwhile before it counts them as dead", async () => {
  await subscribe(store, "wh_1");
  await appendMany(store, 1, 100);
  await settle(store, { subscriptionId: "wh_1", cursor: 100 });
  await scanUntilNow();
  let calls = 0;
  const forget: Store["events"]["forget"] = async (step) => {
    if (++calls === 1) {
      await appendMany(store, 101, 150);
      await scanUntilNow();
    }
    return await store.events.forget(step);
  };
  await runJob(forget);
  assert.deepEqual(await store.events.bounds(), { last: 150, forgotten: 100 });
  // The next run knows which consumers lack these events.
  await runJob(forget);
  assert.deepEqual(await store.events.bounds(), { last: 150, forgotten: 150 });
  assert.equal((await progressOf(store, "wh_1")).dead, 50);
});

test("the job does not delete an event after the year 9999 as the oldest", async () => {
  await append(store, sampleEvent(1, { ledgerClosedAt: "+010000-01-01T00:00:00Z" }));
  await scanUntilNow();
  await runJob();
  assert.equal((await store.events.bounds()).forgotten, 0);
});

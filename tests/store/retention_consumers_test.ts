// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore } from "../../lib/store/open.ts";
import { createRetention } from "../../lib/store/retention.ts";
import { append, appendMany, sampleEvent, scanned } from "./samples.ts";
import { endedOf, sampleFailed, settle, START_MS, subscribe } from "./webhook_samples.ts";

const DAY_MS = 86_400_000;

test("more than a hundred consumers each count their undelivered events as dead, even if some move meanwhile", async () => {
  const store = await openStore("memory:");
  const ids = Array.from({ length: 150 }, (_, n) => `wh_${String(n).padStart(3, "0")}`);
  await subscribe(store, ...ids);
  await appendMany(store, 1, 300);
  await scanned(store, 1_400, { latestLedgerCloseTime: (START_MS + 40 * DAY_MS) / 1_000 });
  let calls = 0;
  const events = {
    ...store.events,
    forget: async (step: Parameters<typeof store.events.forget>[0]) => {
      // The last consumer is sent its first event just before the second hundred is written.
      if (++calls === 2) await settle(store, { subscriptionId: ids.at(-1)!, cursor: 1 });
      return await store.events.forget(step);
    },
  };
  const forget = createRetention({
    store: { ...store, events },
    holder: "h",
    now: () => START_MS + 40 * DAY_MS,
    historyDays: 30,
    attemptDays: 0,
  });
  await forget(new AbortController().signal);
  assert.deepEqual(await store.events.bounds(), { last: 300, forgotten: 300 });
  const dead = new Map<number, number>();
  for (const { progress } of await store.deliveries.consumers({ limit: 500 })) {
    dead.set(progress.dead, (dead.get(progress.dead) ?? 0) + 1);
  }
  await store.close();
  assert.deepEqual([...dead].sort(), [[299, 1], [300, 149]]);
});

test("deliveries that fail while the steps name more than a hundred consumers count once", async () => {
  const store = await openStore("memory:");
  const ids = Array.from({ length: 150 }, (_, n) => `wh_${String(n).padStart(3, "0")}`);
  await subscribe(store, ...ids);
  await appendMany(store, 1, 5);
  await scanned(store, 1_400, { latestLedgerCloseTime: (START_MS + 40 * DAY_MS) / 1_000 });
  const events = {
    ...store.events,
    forget: async (step: Parameters<typeof store.events.forget>[0]) => {
      const isForgotten = await store.events.forget(step);
      // The deliveries of the named consumers are under way, and fail. The others have not come so far.
      const failed = [1, 2, 3, 4, 5].map((sequence) => sampleFailed(sequence, "retrying"));
      if (!step.areMore) {
        for (const subscriptionId of ids) {
          await settle(store, { subscriptionId, cursor: 5, failed });
        }
      }
      return isForgotten;
    },
  };
  const now = () => START_MS + 40 * DAY_MS;
  const forget = createRetention({ store: { ...store, events }, holder: "h", now, historyDays: 30, attemptDays: 0 });
  await forget(new AbortController().signal);
  const told = new Set<string>();
  for (const { progress } of await store.deliveries.consumers({ limit: 500 })) {
    told.add([progress.retrying, progress.dead].join());
  }
  await store.close();
  assert.deepEqual([...told], ["0,5"]);
});

test("no commit deletes the failed deliveries of very many consumers together", async () => {
  const store = await openStore("memory:");
  const ids = Array.from({ length: 250 }, (_, n) => `wh_${n}`);
  await subscribe(store, ...ids);
  await appendMany(store, 1, 100);
  await scanned(store, 1_400, { latestLedgerCloseTime: (START_MS + 40 * DAY_MS) / 1_000 });
  const failed = Array.from({ length: 100 }, (_, n) => sampleFailed(n + 1, "dead"));
  for (const subscriptionId of ids) await settle(store, { subscriptionId, cursor: 100, failed });
  let most = 0;
  const kept = async () => {
    const left = await Promise.all(ids.map((subscriptionId) => endedOf(store, { subscriptionId, limit: 200 })));
    return left.reduce((sum, { length }) => sum + length, 0);
  };
  const events = {
    ...store.events,
    forget: async (step: Parameters<typeof store.events.forget>[0]) => {
      const before = await kept();
      const isForgotten = await store.events.forget(step);
      most = Math.max(most, before - await kept());
      return isForgotten;
    },
  };
  const now = () => START_MS + 40 * DAY_MS;
  await createRetention({ store: { ...store, events }, holder: "h", now, historyDays: 30, attemptDays: 0 })(
    new AbortController().signal,
  );
  assert.equal(await kept(), 0);
  await store.close();
  assert.ok(most > 0 && most <= 5_000, `${most} in one commit`);
});

test("old events that are appended during the job are not deleted undelivered and uncounted", async () => {
  const store = await openStore("memory:");
  await subscribe(store, "wh_1");
  await appendMany(store, 1, 100);
  await settle(store, { subscriptionId: "wh_1", cursor: 100 });
  await scanned(store, 1_400, { latestLedgerCloseTime: (START_MS + 40 * DAY_MS) / 1_000 });
  let calls = 0;
  const events = {
    ...store.events,
    forget: async (step: Parameters<typeof store.events.forget>[0]) => {
      if (++calls === 1) {
        await appendMany(store, 101, 150);
        await scanned(store, 1_400, { latestLedgerCloseTime: (START_MS + 40 * DAY_MS) / 1_000 });
      }
      return await store.events.forget(step);
    },
  };
  const now = () => START_MS + 40 * DAY_MS;
  const forget = createRetention({ store: { ...store, events }, holder: "h", now, historyDays: 30, attemptDays: 0 });
  await forget(new AbortController().signal);
  assert.deepEqual(await store.events.bounds(), { last: 150, forgotten: 100 });
  // The next time it is known who has not been sent them.
  await forget(new AbortController().signal);
  assert.deepEqual(await store.events.bounds(), { last: 150, forgotten: 150 });
  assert.equal((await store.deliveries.consumer("wh_1"))!.progress.dead, 50);
  await store.close();
});

test("an event after the year 9999 does not go as the oldest", async () => {
  const store = await openStore("memory:");
  await append(store, sampleEvent(1, { ledgerClosedAt: "+010000-01-01T00:00:00Z" }));
  await scanned(store, 1_400, { latestLedgerCloseTime: (START_MS + 40 * DAY_MS) / 1_000 });
  const now = () => START_MS + 40 * DAY_MS;
  await createRetention({ store, holder: "h", now, historyDays: 30, attemptDays: 0 })(new AbortController().signal);
  const { forgotten } = await store.events.bounds();
  await store.close();
  assert.equal(forgotten, 0);
});

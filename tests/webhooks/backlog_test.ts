// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { StoreError } from "../../lib/store/store.ts";
import { createBacklog } from "../../lib/webhooks/backlog.ts";
import { sampleEvent, sampleState, watcherLease } from "../store/samples.ts";
import { sampleSubscription } from "../store/webhook_samples.ts";
import { memoryStore } from "./parts.ts";

test("the gateway counts the backlog again within a minute after the store failed", async () => {
  const store = await memoryStore();
  let nowMs = 0;
  let fails = true;
  const events = Object.create(store.events, {
    bounds: {
      value: () => {
        if (!fails) return store.events.bounds();
        nowMs += 30_000;
        return Promise.reject(new StoreError("unavailable", "no answer within 30 s"));
      },
    },
  });
  const backlog = createBacklog(
    Object.create(store, { events: { value: events } }),
    () => Promise.resolve(true),
    () => nowMs,
  );
  await assert.rejects(backlog(), StoreError);
  fails = false;
  nowMs += 60_000;
  assert.equal((await backlog()).pending, 0);
});

test("a long count of many webhooks' backlogs yields to other work after at most two store calls", async () => {
  const store = await memoryStore();
  for (let n = 0; n < 40; n++) await store.subscriptions.insert(sampleSubscription(`wh_${n}`), 99);
  const lease = await watcherLease(store);
  for (let first = 1; first < 1_500; first += 100) {
    const events = Array.from({ length: 100 }, (_, at) => sampleEvent(first + at));
    await store.events.append({ lease, events, state: sampleState(first + 1_100) });
  }
  let [turn, isDone] = [0, false];
  const countedIn = new Map<number, number>();
  store.observe({
    called(method) {
      if (method === "events.count") countedIn.set(turn, (countedIn.get(turn) ?? 0) + 1);
    },
  });
  const counting = createBacklog(store, () => Promise.resolve(true), () => 0)().finally(() => isDone = true);
  for (; !isDone; turn++) await nextTurn();
  assert.equal((await counting).pending, 40 * 1_500);
  assert.ok(Math.max(...countedIn.values()) <= 2, `${Math.max(...countedIn.values())} in one turn`);
});

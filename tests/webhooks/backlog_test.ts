import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreError } from "../../lib/store/store.ts";
import { createBacklog } from "../../lib/webhooks/backlog.ts";
import { memoryStore } from "./parts.ts";

test("what is owed is counted again soon after the store has failed", async () => {
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

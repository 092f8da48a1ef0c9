import assert from "node:assert/strict";
import { test } from "node:test";
import { observedStore } from "../../lib/gateway/observed_store.ts";
import { type Store, StoreError } from "../../lib/store/store.ts";
import type { Attempt, Settlement } from "../../lib/store/webhook_store.ts";

function observed(methods: Partial<Store>) {
  const seen: string[] = [];
  const store = observedStore(methods as Store, {
    storeFailed: (kind) => void seen.push(`store ${kind}`),
    deliveryAttempted: ({ outcome }) => void seen.push(`attempt ${outcome}`),
  });
  return { store, seen };
}

const settlement = (outcome: Attempt["outcome"]) => ({ attempt: { outcome } }) as Settlement;

test("a call goes through with its arguments and its answer, a property as it is", async () => {
  const asked: unknown[] = [];
  const { store, seen } = observed({
    location: "sqlite:/x",
    listKeys: (page) => Promise.resolve((asked.push(page), [])),
  });
  assert.deepEqual(await store.keys.list({ limit: 5 }), []);
  assert.deepEqual([asked, store.location, seen], [[{ limit: 5 }], "sqlite:/x", []]);
  assert.equal(store.listKeys, store.listKeys);
});

test("a call that the store refuses is counted by its kind, and rejects as it did; a mistake of ours is not counted", async () => {
  const full = new StoreError("full", "the disk is full");
  const { store, seen } = observed({
    saveBuckets: () => Promise.reject(full),
    gaps: () => Promise.reject(new RangeError("too many")),
  });
  await assert.rejects(store.buckets.save([]), full);
  await assert.rejects(store.gaps(), RangeError);
  assert.deepEqual(seen, ["store full"]);
});

test("attempts are counted once they are written down, those of a test event too, and not before", async () => {
  let isDown = true;
  const unavailable = new StoreError("unavailable", "gone");
  const { store, seen } = observed({
    settle: () => isDown ? Promise.reject(unavailable) : Promise.resolve(),
    recordAttempt: () => Promise.resolve(),
  });
  await assert.rejects(store.settle([settlement("delivered")]), unavailable);
  isDown = false;
  await store.settle([settlement("delivered"), settlement("dead")]);
  await store.recordAttempt({ outcome: "retry" } as Attempt);
  assert.deepEqual(seen, ["store unavailable", "attempt delivered", "attempt dead", "attempt retry"]);
});

// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore } from "../../lib/store/open.ts";
import type { Store } from "../../lib/store/store.ts";
import { openStoreClock } from "../../lib/store/store_clock.ts";
import { createTestClock } from "../test_clock.ts";

const DAY_MS = 86_400_000;
const START_MS = Date.parse("2026-01-01T00:00:00Z");

/** A store whose calls of `change`, which read its clock, go through `around`. */
function changesBy(
  store: Store,
  around: <T>(change: () => Promise<T>) => Promise<T>,
): Pick<Store, "sharedState" | "isShared"> {
  const change: Store["sharedState"]["change"] = (...asked) => around(() => store.sharedState.change(...asked));
  return { sharedState: Object.create(store.sharedState, { change: { value: change } }), isShared: true };
}

test("on a shared store the clock follows the store's, and ignores a step of this machine's clock", async () => {
  const own = createTestClock(START_MS + DAY_MS);
  let storeMs = START_MS;
  const store = await openStore("memory:", { isShared: true, now: () => storeMs });
  const { clock, look } = await openStoreClock(store, own);
  assert.equal(clock.now(), START_MS);
  own.step(40 * DAY_MS);
  own.advance(1_000);
  assert.equal(clock.now(), START_MS + 1_000);
  storeMs += 3_600_000;
  await look();
  assert.equal(clock.now(), storeMs, "it follows the store's");
  await store.close();
  await look();
  assert.equal(clock.now(), storeMs, "a failed read of the store's time changes nothing");
});

test("the clock does not go back after an answer that took a minute, as in a suspended process", async () => {
  const own = createTestClock(START_MS);
  let storeMs = START_MS;
  const pass = (ms: number) => {
    storeMs += ms;
    own.advance(ms);
  };
  const store = await openStore("memory:", { isShared: true, now: () => storeMs });
  let standsStill = () => {};
  const slow = changesBy(store, async (change) => {
    pass(20);
    const answer = await change();
    standsStill();
    return answer;
  });
  const { clock, look } = await openStoreClock(slow, own);
  pass(10_000);
  standsStill = () => pass(60_000);
  await look();
  assert.equal(clock.now(), storeMs);

  storeMs -= 3_600_000;
  await look();
  assert.ok(Math.abs(clock.now() - storeMs) <= 60_020, "a step of the store's clock is followed all the same");
  standsStill = () => {};
  await look();
  assert.ok(Math.abs(clock.now() - storeMs) <= 20, "and to the milliseconds as soon as it answers at once");
  await store.close();
});

test("the clock ignores an answer that arrives after the answer to a later request", async () => {
  const own = createTestClock(START_MS);
  let storeMs = START_MS;
  const store = await openStore("memory:", { isShared: true, now: () => storeMs });
  let isHeldUp = false;
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  const overtaken = changesBy(store, async (change) => {
    const isSlow = isHeldUp;
    isHeldUp = false;
    const found = await change();
    if (isSlow) await answered;
    return found;
  });
  const { clock, look } = await openStoreClock(overtaken, own);
  isHeldUp = true;
  const slow = look();
  own.advance(10_000);
  storeMs -= 40 * DAY_MS;
  await look();
  assert.equal(clock.now(), storeMs);
  answer();
  await slow;
  assert.equal(clock.now(), storeMs);
  await store.close();
});

test("on a store that is not shared the clock is this machine's", async () => {
  const own = createTestClock(START_MS);
  const store = await openStore("memory:", { now: () => 0 });
  const { clock } = await openStoreClock(store, own);
  own.step(DAY_MS);
  assert.equal(clock.now(), START_MS + DAY_MS);
  await store.close();
});

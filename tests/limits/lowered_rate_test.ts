// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createSharedLimiter } from "../../lib/limits/shared_limiter.ts";
import { openStore } from "../../lib/store/open.ts";

test("a key in use whose rate is lowered gets at most one bucket of the new rate", async () => {
  let elapsedMs = 7;
  const storeMs = Date.parse("2026-03-01T12:00:00.000Z");
  await using store = await openStore("memory:", { now: () => storeMs + elapsedMs, isShared: true })
    .then((open) => Object.assign(open, { [Symbol.asyncDispose]: () => open.close() }));
  const limiters = ["a", "b"].map((holder) =>
    createSharedLimiter({ store, monotonicNow: () => elapsedMs, defaultRate: 120, holder, onProblem: () => {} })
  );
  const admitted = async (rate: number, count: number) => {
    let allowed = 0;
    for (let n = 0; n < count; n++) {
      if ((await limiters[n % 2]!.take("key", rate)).allowed) allowed += 1;
      elapsedMs += 1;
    }
    return allowed;
  };
  assert.equal(await admitted(6_000, 600), 600);
  // The operator lowers the key's rate.
  const after = await admitted(10, 2_000);
  assert.ok(after <= 11, `${after} requests in two seconds, at 10 a minute`);
});

test("a key whose rate is lowered gets at most one bucket also after the limiter returns its leased tokens", async () => {
  let elapsedMs = 7;
  const storeMs = Date.parse("2026-03-01T12:00:00.000Z");
  const store = await openStore("memory:", { now: () => storeMs + elapsedMs, isShared: true });
  const limiter = createSharedLimiter({
    store,
    monotonicNow: () => elapsedMs,
    defaultRate: 120,
    holder: "a",
    onProblem: () => {},
  });
  for (let n = 0; n < 600; n++) assert.ok((await limiter.take("key", 6_000)).allowed);
  elapsedMs += 1_000;
  limiter.peek("key", 10);
  await limiter.flush();
  let after = 0;
  for (let n = 0; n < 1_000; n++) if ((await limiter.take("key", 10)).allowed) after += 1;
  await store.close();
  assert.ok(after <= 11, `${after} requests at once, at 10 a minute`);
});

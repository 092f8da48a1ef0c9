// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createAnswerCache } from "../../../lib/escrow/reads/answer_cache.ts";
import { createHead } from "../../../lib/stellar/head.ts";
import { fakeClock } from "../../stellar/rpc/stub_rpc.ts";

const START_SECONDS = 1_767_225_600;

function stage() {
  const clock = fakeClock(START_SECONDS * 1_000);
  const head = createHead({ clock, stored: { sequence: 99, closeTime: START_SECONDS } });
  const cache = createAnswerCache<string>({ head, now: clock.monotonicMs, maxAgeMs: 6_000 });
  /** A node's answer, which the head observes before the cache returns it. */
  async function answer(ledger: number, value: string) {
    await Promise.resolve();
    head.observe({ node: 0, sequence: ledger, closeTime: START_SECONDS });
    return { ledger, value };
  }
  return { clock, head, cache, answer };
}

test("the cache keeps an answer of the latest ledger until the next ledger", async () => {
  const { head, cache, answer } = stage();
  head.observe({ node: 0, sequence: 100, closeTime: START_SECONDS });
  assert.equal(await cache.get("card", () => answer(100, "first")), "first");
  assert.equal(await cache.get("card", () => answer(100, "second")), "first");
  head.observe({ node: 0, sequence: 101, closeTime: START_SECONDS });
  assert.equal(await cache.get("card", () => answer(101, "third")), "third");
});

test("the age of an answer counts from its request", async () => {
  const { clock, head, cache, answer } = stage();
  head.observe({ node: 0, sequence: 100, closeTime: START_SECONDS });
  const late = Promise.withResolvers<void>();
  const before = cache.get("card", () => late.promise.then(() => answer(100, "before")));
  clock.pass(20_000);
  const after = cache.get("card", () => answer(100, "after"));
  late.resolve();
  assert.deepEqual([await before, await after], ["before", "after"]);
  assert.notEqual(await cache.get("card", () => answer(100, "asked again")), "before");
});

test("an answer older than the head is returned and not cached", async () => {
  const { head, cache, answer } = stage();
  head.observe({ node: 0, sequence: 100, closeTime: START_SECONDS });
  assert.equal(await cache.get("card", () => answer(99, "as of ledger 99")), "as of ledger 99");
  assert.equal(await cache.get("card", () => answer(100, "as of ledger 100")), "as of ledger 100");
  assert.equal(await cache.get("card", () => answer(100, "not asked for")), "as of ledger 100");
});

test("a request from before a new head is not shared after it", async () => {
  const { head, cache, answer } = stage();
  head.observe({ node: 0, sequence: 100, closeTime: START_SECONDS });
  const late = Promise.withResolvers<void>();
  const asked = cache.get("card", () => late.promise.then(() => answer(100, "as of ledger 100")));
  head.observe({ node: 0, sequence: 101, closeTime: START_SECONDS });
  assert.equal(await cache.get("card", () => answer(101, "as of ledger 101")), "as of ledger 101");
  late.resolve();
  assert.equal(await asked, "as of ledger 100");
});

// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createAnswerCache } from "../../../lib/escrow/reads/answer_cache.ts";
import { createLedgerView } from "../../../lib/stellar/ledger/ledger_view.ts";
import { fakeClock } from "../../stellar/rpc/stub_rpc.ts";

const START_SECONDS = 1_767_225_600;

function stage() {
  const clock = fakeClock(START_SECONDS * 1_000);
  const view = createLedgerView({ clock, nodes: 2 });
  const cache = createAnswerCache<string>({ view, now: clock.monotonicMs, maxAgeMs: 6_000 });
  /** What a node answers, which is heard before it is passed on. */
  async function answer(ledger: number, value: string) {
    await Promise.resolve();
    view.hear({ node: 0, sequence: ledger, closeTime: START_SECONDS });
    return { ledger, value };
  }
  return { clock, view, cache, answer };
}

test("what is true of the newest ledger is kept until the next is seen", async () => {
  const { view, cache, answer } = stage();
  view.hear({ node: 0, sequence: 100, closeTime: START_SECONDS });
  assert.equal(await cache.get("card", () => answer(100, "first")), "first");
  assert.equal(await cache.get("card", () => answer(100, "second")), "first");
  view.hear({ node: 0, sequence: 101, closeTime: START_SECONDS });
  assert.equal(await cache.get("card", () => answer(101, "third")), "third");
});

test("the answer that is the first to speak of a ledger is not kept: it may be of the one before", async () => {
  const { view, cache, answer } = stage();
  view.hear({ node: 0, sequence: 100, closeTime: START_SECONDS });
  assert.equal(await cache.get("card", () => answer(101, "as of ledger 100")), "as of ledger 100");
  assert.equal(await cache.get("card", () => answer(101, "as of ledger 101")), "as of ledger 101");
});

test("what was read while a wrong answer was believed is not kept when that is overturned", async () => {
  const { clock, view, cache, answer } = stage();
  view.hear({ node: 0, sequence: 100, closeTime: START_SECONDS });
  view.hear({ node: 0, sequence: 101, closeTime: START_SECONDS });
  assert.equal(await cache.get("card", () => answer(101, "as of ledger 100")), "as of ledger 100");
  // The ledger closes now, at another time than the node said that spoke of it too early.
  const closed = { sequence: 101, closeTime: START_SECONDS + 5 };
  view.hear({ node: 0, ...closed });
  clock.pass(2_000);
  view.hear({ node: 1, ...closed });
  assert.deepEqual([view.sequence, view.overturned], [101, 1]);
  assert.equal(await cache.get("card", () => answer(101, "as of ledger 101")), "as of ledger 101");
});

test("an answer that comes late, as after a standstill, is as old as its question", async () => {
  const { clock, view, cache, answer } = stage();
  view.hear({ node: 0, sequence: 100, closeTime: START_SECONDS });
  const late = Promise.withResolvers<void>();
  const before = cache.get("card", () => late.promise.then(() => answer(100, "before")));
  clock.pass(20_000);
  const after = cache.get("card", () => answer(100, "after"));
  late.resolve();
  assert.deepEqual([await before, await after], ["before", "after"]);
  assert.notEqual(await cache.get("card", () => answer(100, "asked again")), "before");
});

test("nothing kept is shown once another ledger than the believed one was, which is newer", async () => {
  const { clock, view, cache, answer } = stage();
  view.hear({ node: 0, sequence: 100, closeTime: START_SECONDS });
  const ahead = { node: 0, sequence: 1_000, closeTime: START_SECONDS + 60 };
  assert.equal(view.hear(ahead), "ahead");
  view.hearShown(1_000);
  // Nobody else has spoken for that ledger yet.
  assert.equal(await cache.get("card", () => answer(100, "as of ledger 100")), "as of ledger 100");
  assert.equal(await cache.get("card", () => answer(100, "not asked for")), "as of ledger 100");
  const late = Promise.withResolvers<void>();
  const asked = cache.get("other card", () => late.promise.then(() => answer(100, "as of ledger 100")));
  clock.pass(1_000);
  view.hear(ahead);
  assert.deepEqual([view.sequence, view.shownSequence], [100, 1_000]);
  assert.equal(await cache.get("card", () => answer(1_000, "as of ledger 1000")), "as of ledger 1000");
  assert.equal(await cache.get("other card", () => answer(1_000, "as of ledger 1000")), "as of ledger 1000");
  late.resolve();
  assert.equal(await asked, "as of ledger 100");
});

// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import {
  afterPruning,
  afterReset,
  firstState,
  gapsToFill,
  heldRanges,
  watchedContracts,
  withContracts,
  withFilled,
  withoutReach,
} from "../../lib/events/coverage.ts";
import type { WatcherState } from "../../lib/store/store.ts";

const NOTICED = "2026-01-01T00:00:00Z";
const IDS = ["A", "B", "C"];

type Step =
  | { do: "scan"; ledgers: number }
  | { do: "watch"; ids: string[]; oldestBack: number }
  | { do: "prune"; ledgers: number }
  | { do: "fill"; gap: number; from: number; to: number }
  | { do: "forgetReach"; gap: number; by: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant("scan" as const), ledgers: fc.integer({ min: 1, max: 9 }) }),
  fc.record({
    do: fc.constant("watch" as const),
    ids: fc.subarray(IDS, { minLength: 1 }),
    oldestBack: fc.nat(12),
  }),
  fc.record({ do: fc.constant("prune" as const), ledgers: fc.integer({ min: 1, max: 6 }) }),
  fc.record({ do: fc.constant("fill" as const), gap: fc.nat(5), from: fc.nat(4), to: fc.nat(6) }),
  fc.record({ do: fc.constant("forgetReach" as const), gap: fc.nat(5), by: fc.integer({ min: 1, max: 5 }) }),
);

/** Takes a step, and notes in `held` which ledgers of which contract have been read. */
function take(state: WatcherState, step: Step, held: Map<string, Set<number>>): WatcherState {
  const gap = "gap" in step ? gapsToFill(state)[step.gap] : undefined;
  switch (step.do) {
    case "scan": {
      const scannedLedger = state.scannedLedger + step.ledgers;
      for (const id of watchedContracts(state)) {
        for (let ledger = state.scannedLedger + 1; ledger <= scannedLedger; ledger++) held.get(id)!.add(ledger);
      }
      return { ...state, scannedLedger };
    }
    case "watch":
      return withContracts(state, step.ids, Math.max(1, state.scannedLedger - step.oldestBack), NOTICED);
    case "prune":
      return afterPruning(state, state.scannedLedger + 1 + step.ledgers, NOTICED);
    case "fill": {
      if (gap === undefined) return state;
      const from = Math.min(gap.toLedger, gap.fromLedger + step.from);
      const to = Math.min(gap.toLedger, from + step.to);
      for (const id of gap.contractIds) for (let ledger = from; ledger <= to; ledger++) held.get(id)!.add(ledger);
      return withFilled(state, gap.contractIds, from, to);
    }
    case "forgetReach":
      return gap === undefined ? state : withoutReach(state, gap, gap.fromLedger + step.by);
  }
}

describe("what of the network has been read", () => {
  test("each ledger in reach of a contract is read or in a gap of it, never both, whatever happens", () => {
    let gaps = 0;
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 40 }), (steps) => {
        let state = firstState(["A"], 100);
        const held = new Map(IDS.map((id) => [id, new Set<number>()]));
        for (const step of steps) state = take(state, step, held);
        for (const [id, { fromLedger, toLedger }] of Object.entries(state.contracts)) {
          const missing = new Set<number>();
          for (const gap of state.gaps.filter(({ contractIds }) => contractIds.includes(id))) {
            for (let ledger = gap.fromLedger; ledger <= gap.toLedger; ledger++) missing.add(ledger);
          }
          for (let ledger = fromLedger; ledger <= (toLedger ?? state.scannedLedger); ledger++) {
            const [isHeld, isMissing] = [held.get(id)!.has(ledger), missing.has(ledger)];
            assert.notEqual(isHeld, isMissing, `ledger ${ledger} of ${id}: ${JSON.stringify(state)}`);
          }
        }
        gaps += state.gaps.length;
        assert.deepEqual(state.gaps, state.gaps.toSorted((a, b) => a.fromLedger - b.fromLedger), "ascending");
        const ranges = heldRanges(state);
        assert.ok(ranges.every(({ fromLedger, toLedger }) => fromLedger <= toLedger));
        assert.ok(ranges.every((range, at) => at === 0 || ranges[at - 1]!.toLedger < range.fromLedger));
      }),
      { numRuns: 500 },
    );
    assert.ok(gaps > 200, `${gaps} gaps`);
  });

  test("gaps beyond a hundred are shown as fewer, wider ones: none is left out", () => {
    let state = { ...firstState(["A"], 1), scannedLedger: 1 };
    for (let times = 0; times < 150; times++) {
      state = afterPruning(state, state.scannedLedger + 2, NOTICED);
      state = { ...state, scannedLedger: state.scannedLedger + 1 };
    }
    assert.equal(state.gaps.length, 100);
    const isInGap = (ledger: number) =>
      state.gaps.some(({ fromLedger, toLedger }) => fromLedger <= ledger && ledger <= toLedger);
    for (let times = 0; times < 150; times++) assert.ok(isInGap(2 + 2 * times), `ledger ${2 + 2 * times}`);
  });

  test("after a reset the old epoch's gaps stay, and are no jobs; its rest is one more", () => {
    let state: WatcherState = { ...firstState(["A"], 1), scannedLedger: 10 };
    state = { ...afterPruning(state, 15, NOTICED), scannedLedger: 20, latestLedger: 25 };
    state = afterReset(state, { oldestLedger: 3 }, NOTICED);
    assert.deepEqual(state.gaps.map(({ epoch, fromLedger, toLedger }) => [epoch, fromLedger, toLedger]), [
      [0, 11, 14],
      [0, 21, 25],
    ]);
    assert.deepEqual(gapsToFill(state), []);
    assert.deepEqual(heldRanges({ ...state, scannedLedger: 5 }), [
      { epoch: 0, fromLedger: 1, toLedger: 10 },
      { epoch: 0, fromLedger: 15, toLedger: 20 },
      { epoch: 1, fromLedger: 3, toLedger: 5 },
    ]);
  });

  test("a network that has pruned its first ledgers before any was read has no gap of its own, and the old epoch's stay", () => {
    let state: WatcherState = { ...firstState(["A"], 1), scannedLedger: 10 };
    state = { ...afterPruning(state, 15, NOTICED), scannedLedger: 20, latestLedger: 20 };
    state = afterPruning(afterReset(state, { oldestLedger: 3 }, NOTICED), 7, NOTICED);
    assert.deepEqual(state.gaps.map(({ epoch, fromLedger, toLedger }) => [epoch, fromLedger, toLedger]), [[0, 11, 14]]);
    assert.deepEqual(heldRanges({ ...state, scannedLedger: 8 }), [
      { epoch: 0, fromLedger: 1, toLedger: 10 },
      { epoch: 0, fromLedger: 15, toLedger: 20 },
      { epoch: 1, fromLedger: 7, toLedger: 8 },
    ]);
  });

  test("the ledger by which a former network is told stays known, until a later one takes its place", () => {
    const [first, second] = [{ ledger: 10, hash: "aa" }, { ledger: 6, hash: "bb" }];
    const reset = afterReset(
      { ...firstState(["A"], 1), scannedLedger: 12 },
      { oldestLedger: 3, formerAnchor: first },
      NOTICED,
    );
    assert.deepEqual(reset.formerAnchor, first);
    assert.deepEqual(afterPruning(reset, 7, NOTICED).formerAnchor, first);
    const again = { ...reset, scannedLedger: 8 };
    assert.deepEqual(afterPruning(again, 12, NOTICED).formerAnchor, first);
    assert.deepEqual(afterReset(again, { oldestLedger: 2 }, NOTICED).formerAnchor, first);
    assert.deepEqual(afterReset(again, { oldestLedger: 2, formerAnchor: second }, NOTICED).formerAnchor, second);
  });
});

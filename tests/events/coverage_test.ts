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
  withCheckpoint,
  withContracts,
  withFilled,
  withoutAbove,
  withoutReach,
  withScanned,
} from "../../lib/events/coverage.ts";
import type { WatcherState } from "../../lib/store/store.ts";

const NOTICED = "2026-01-01T00:00:00Z";
const IDS = ["A", "B", "C"];
const TOLD = { isSilent: false };

function epochFrom(oldestLedger: number) {
  return { head: { sequence: 40, closeTime: 1 }, checkpoint: { ledger: 40, hash: "aa", closeTime: 1 }, oldestLedger };
}

type Step =
  | { do: "scan"; ledgers: number }
  | { do: "watch"; ids: string[]; oldestBack: number }
  | { do: "prune"; ledgers: number }
  | { do: "fill"; gap: number; from: number; to: number }
  | { do: "forgetReach"; gap: number; by: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant("scan" as const), ledgers: fc.integer({ min: 1, max: 9 }) }),
  fc.record({ do: fc.constant("watch" as const), ids: fc.subarray(IDS, { minLength: 1 }), oldestBack: fc.nat(12) }),
  fc.record({ do: fc.constant("prune" as const), ledgers: fc.integer({ min: 1, max: 6 }) }),
  fc.record({ do: fc.constant("fill" as const), gap: fc.nat(5), from: fc.nat(4), to: fc.nat(6) }),
  fc.record({ do: fc.constant("forgetReach" as const), gap: fc.nat(5), by: fc.integer({ min: 1, max: 5 }) }),
);

/** Takes a step, and records in `held` the ledgers that are read for each contract. */
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
      return afterPruning(state, state.scannedLedger + 1 + step.ledgers, NOTICED, TOLD);
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

describe("the watcher's state", () => {
  test("has each ledger of a contract's range either as read or in a gap, after any sequence of steps", () => {
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

  test("merges gaps to at most 100 wider gaps, which still contain every missing ledger", () => {
    let state = { ...firstState(["A"], 1), scannedLedger: 1 };
    for (let times = 0; times < 150; times++) {
      state = afterPruning(state, state.scannedLedger + 2, NOTICED, TOLD);
      state = { ...state, scannedLedger: state.scannedLedger + 1 };
    }
    assert.equal(state.gaps.length, 100);
    const isInGap = (ledger: number) =>
      state.gaps.some(({ fromLedger, toLedger }) => fromLedger <= ledger && ledger <= toLedger);
    for (let times = 0; times < 150; times++) assert.ok(isInGap(2 + 2 * times), `ledger ${2 + 2 * times}`);
  });

  test("keeps the former epoch's gaps after a reset without filling them, and adds its unread ledgers as one more gap", () => {
    let state: WatcherState = { ...firstState(["A"], 1), scannedLedger: 10 };
    state = { ...afterPruning(state, 15, NOTICED, TOLD), scannedLedger: 20, settledLedger: 18, latestLedger: 25 };
    state = afterReset(state, epochFrom(3), NOTICED);
    assert.deepEqual(state.gaps.map(({ epoch, fromLedger, toLedger }) => [epoch, fromLedger, toLedger]), [
      [0, 11, 14],
      [0, 19, 25],
    ]);
    assert.deepEqual(gapsToFill(state), []);
    assert.deepEqual(heldRanges({ ...state, scannedLedger: 5 }), [
      { epoch: 0, fromLedger: 1, toLedger: 10 },
      { epoch: 0, fromLedger: 15, toLedger: 18 },
      { epoch: 1, fromLedger: 3, toLedger: 5 },
    ]);
  });

  test("has no gap for ledgers of a new epoch that were pruned before the first read, and keeps the former epoch's gaps", () => {
    let state: WatcherState = { ...firstState(["A"], 1), scannedLedger: 10 };
    state = { ...afterPruning(state, 15, NOTICED, TOLD), scannedLedger: 20, settledLedger: 20, latestLedger: 20 };
    state = afterPruning(afterReset(state, epochFrom(3), NOTICED), 7, NOTICED, TOLD);
    assert.deepEqual(state.gaps.map(({ epoch, fromLedger, toLedger }) => [epoch, fromLedger, toLedger]), [[0, 11, 14]]);
    assert.deepEqual(heldRanges({ ...state, scannedLedger: 8 }), [
      { epoch: 0, fromLedger: 1, toLedger: 10 },
      { epoch: 0, fromLedger: 15, toLedger: 20 },
      { epoch: 1, fromLedger: 7, toLedger: 8 },
    ]);
  });

  test("starts a new epoch with its checkpoint, and keeps the last checkpoint of the former epoch", () => {
    const checkpoints = [{ ledger: 4, hash: "aa", closeTime: 1 }, { ledger: 9, hash: "bb", closeTime: 2 }];
    const reset = afterReset({ ...firstState(["A"], 1), scannedLedger: 12, checkpoints }, epochFrom(3), NOTICED);
    assert.deepEqual(reset.checkpoints, [epochFrom(3).checkpoint]);
    assert.deepEqual(reset.formerCheckpoints, [checkpoints[1]]);
    assert.deepEqual([reset.epoch, reset.latestLedger, reset.scannedLedger, reset.settledLedger], [1, 40, 2, 2]);
    const again = afterReset(reset, epochFrom(2), NOTICED);
    assert.deepEqual(again.formerCheckpoints, [checkpoints[1], epochFrom(3).checkpoint]);
  });

  test("counts no ledger above a lowered head as scanned (H13)", () => {
    const checkpoints = [{ ledger: 4, hash: "aa", closeTime: 1 }, { ledger: 9, hash: "bb", closeTime: 2 }];
    let state = withScanned({ ...firstState(["A"], 1), checkpoints }, 7, { closeTime: 50, rpcCursor: "x" });
    state = withScanned(state, 12, { closeTime: 70, rpcCursor: "y" });
    const { rpcCursor, scannedLedger, rescans, checkpoints: left } = withoutAbove(state, 8);
    assert.deepEqual([rpcCursor, scannedLedger], [undefined, 8]);
    assert.deepEqual([rescans, left], [[{ ledger: 7, closeTime: 50 }], [checkpoints[0]]]);
    assert.equal(withoutAbove(state, 12), state);
  });

  test("marks one ledger per half minute for a rescan, and always the last ledger", () => {
    let state = firstState(["A"], 1);
    for (let ledger = 1; ledger <= 30; ledger++) state = withScanned(state, ledger, { closeTime: 5 * ledger });
    assert.deepEqual(state.rescans.map(({ ledger }) => ledger), [1, 7, 13, 19, 25, 30]);
    for (let ledger = 31; ledger <= 900; ledger++) state = withScanned(state, ledger, { closeTime: 5 * ledger });
    assert.deepEqual([state.rescans.length, state.rescans.at(-1)!.ledger], [20, 900]);
  });

  test("keeps the last ten checkpoints", () => {
    let state = firstState(["A"], 1);
    for (let ledger = 1; ledger <= 12; ledger++) {
      state = withCheckpoint(state, { ledger, hash: "aa", closeTime: ledger });
    }
    assert.deepEqual(state.checkpoints.map(({ ledger }) => ledger), [3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  });
});

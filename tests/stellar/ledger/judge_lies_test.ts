// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import type { LedgerView } from "../../../lib/stellar/ledger/ledger_view.ts";
import { forTier } from "../../tier.ts";
import { stage, START, TEN_YEARS } from "./judge_stage.ts";

/** One wrong answer, of any kind. */
const lie = fc.record({
  atSecond: fc.integer({ min: 5, max: 100 }),
  node: fc.nat(1),
  sequenceBy: fc.oneof(fc.integer({ min: -1_000, max: 1_000 }), fc.constantFrom(1e6, 2 ** 31 - 2_000, -900, 99, 33)),
  timeBy: fc.option(fc.oneof(fc.integer({ min: -4_000, max: 4_000 }), fc.constantFrom(TEN_YEARS, -TEN_YEARS, 59, 61))),
});

/** After a wrong answer, the view is right again after so many seconds in which somebody answers … */
const HEALED_SECONDS = 6;
/** … and where it looks as if nodes lagged by a few ledgers, when these have closed. */
const CLOSED_SECONDS = 20;
const healedAt = ({ atSecond, sequenceBy }: { atSecond: number; sequenceBy: number }) =>
  atSecond + (sequenceBy >= 1 && sequenceBy <= 4 ? CLOSED_SECONDS : HEALED_SECONDS);
/** By when a view with nothing stored, on a clock that is wrong, knows its way. */
const SETTLED_SECONDS = 30;

describe("whatever one wrong answer says, at whatever time", () => {
  const history = fc.record({
    lie,
    nodes: fc.integer({ min: 1, max: 2 }),
    lags: fc.array(fc.nat(2), { minLength: 1, maxLength: 20 }),
    untimed: fc.array(fc.boolean(), { minLength: 1, maxLength: 20 }),
    clockOff: fc.constantFrom(0, 5, -30, 3_600, -3_600, 86_400, -86_400, 40 * 86_400),
    stepAtSecond: fc.integer({ min: 0, max: 120 }),
    stepBy: fc.constantFrom(0, 2, -2, 3_600, -3_600, 86_400, -40 * 86_400),
  })
    // A lie in the very seconds in which our clock is moved to where it points would be two witnesses that agree.
    .filter(({ lie, stepAtSecond }) => Math.abs(lie.atSecond - stepAtSecond) > 8);

  /** Plays two minutes; `look` sees the view at the end of each second. */
  function play(
    { lie, nodes, lags, untimed, clockOff, stepAtSecond, stepBy }: (typeof history) extends fc.Arbitrary<infer T> ? T
      : never,
    look: (second: number, view: LedgerView, truth: { sequence: number; closeTime: number }) => void,
  ): void {
    const on = stage({ nodes, clockOff });
    for (let second = 1; second <= 120; second++) {
      on.clock.pass(500);
      if (second === stepAtSecond) on.clock.step(stepBy * 1000);
      if (second === lie.atSecond) {
        const sequence = Math.max(1, on.truth().sequence + lie.sequenceBy);
        const closeTime = lie.timeBy === null ? undefined : Math.max(1, on.truth().closeTime + lie.timeBy);
        on.hear({ node: lie.node % nodes, sequence, closeTime });
      }
      on.clock.pass(500);
      // One of the nodes never lags, the other does now and then.
      on.view.hear({ node: 0, ...on.truth() });
      const late = on.truth(lags[second % lags.length]!);
      const closeTime = untimed[second % untimed.length] ? undefined : late.closeTime;
      on.view.hear({ node: nodes - 1, sequence: late.sequence, closeTime });
      look(second, on.view, on.truth());
    }
  }

  test("the believed ledger and its time are the network's again within seconds", () => {
    fc.assert(
      fc.property(history, (history) =>
        play(history, (second, view, truth) => {
          const isHealing = second >= history.lie.atSecond && second < healedAt(history.lie);
          if (second < SETTLED_SECONDS || isHealing) return;
          assert.equal(view.sequence, truth.sequence, `at second ${second}`);
          assert.equal(view.closeTime, truth.closeTime, `at second ${second}`);
        })),
      { numRuns: forTier({ test: 200, all: 2_000 }) },
    );
  });

  test("what is confirmed is never more than is true, and never goes back", () => {
    fc.assert(
      fc.property(history, (history) => {
        let before = 0;
        play(history, (second, { confirmed }, truth) => {
          assert.ok(confirmed.sequence <= truth.sequence, `${confirmed.sequence} at second ${second}`);
          assert.ok(confirmed.sequence >= before, `back to ${confirmed.sequence} at second ${second}`);
          assert.ok(second < SETTLED_SECONDS || confirmed.sequence >= truth.sequence - 2, "it keeps up");
          before = confirmed.sequence;
        });
      }),
      { numRuns: forTier({ test: 200, all: 2_000 }) },
    );
  });

  test("the network's time is right within a minute always, and to the ledger but for seconds", () => {
    fc.assert(
      fc.property(history, (history) => {
        play(history, (second, view) => {
          if (second < SETTLED_SECONDS) return;
          const off = Math.abs(view.networkSeconds() - (START + second));
          assert.ok(off <= 75, `${off} s off at second ${second}`);
          const isHealing = second >= history.lie.atSecond && second < healedAt(history.lie);
          if (!isHealing) assert.ok(off <= 6, `${off} s off at second ${second}`);
        });
      }),
      { numRuns: forTier({ test: 200, all: 2_000 }) },
    );
  });
});

describe("whatever one of two nodes says always", () => {
  const liar = fc.record({
    // Of the very first claims it is not known which is true.
    fromSecond: fc.integer({ min: 5, max: 60 }),
    everyMs: fc.constantFrom(1_000, 3_000, 11_000),
    sequenceBy: fc.oneof(fc.constantFrom(1e6, 2 ** 31 - 2_000, 50_000, -900), fc.integer({ min: 1_000, max: 100_000 })),
    timeBy: fc.constantFrom(0, 3_600, -3_600, TEN_YEARS, -TEN_YEARS),
    clockOff: fc.constantFrom(0, 5, -30),
    stepBy: fc.constantFrom(0, 3_600, -86_400, 40 * 86_400),
  });

  test("nothing that contradicts it is believed while the other one tells the truth", () => {
    fc.assert(
      fc.property(liar, ({ fromSecond, everyMs, sequenceBy, timeBy, clockOff, stepBy }) => {
        const on = stage({ nodes: 2, clockOff });
        let nextLieMs = fromSecond * 1_000;
        for (let second = 1; second <= 300; second++) {
          on.clock.pass(500);
          // A clock that is moved to where the liar points would be a second witness.
          if (second === 100 && stepBy !== timeBy) on.clock.step(stepBy * 1_000);
          if (on.clock.monotonicMs() >= nextLieMs) {
            nextLieMs += everyMs;
            const { sequence, closeTime } = on.truth();
            on.hear({ node: 1, sequence: Math.max(1, sequence + sequenceBy), closeTime: closeTime + timeBy });
          }
          on.clock.pass(500);
          on.view.hear({ node: 0, ...on.truth() });
          if (second >= fromSecond && second < fromSecond + HEALED_SECONDS) continue;
          assert.equal(on.view.sequence, on.truth().sequence, `at second ${second}`);
          assert.equal(on.view.closeTime, on.truth().closeTime, `at second ${second}`);
          assert.ok(on.view.confirmed.sequence <= on.truth().sequence, `at second ${second}`);
        }
      }),
      { numRuns: forTier({ test: 30, all: 300 }) },
    );
  });
});

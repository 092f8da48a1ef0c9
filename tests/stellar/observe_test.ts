// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Answer, type HeadState, observe, type Verdict } from "../../lib/stellar/observe.ts";

/** Unix seconds of the head's close in the rows below, which was seen last at monotonic 0. */
const T = 1_800_000_000;
const HEAD: HeadState = {
  head: { sequence: 5_000, closeTime: T, atMs: 0 },
  timed: { sequence: 5_000, closeTime: T, atMs: 0 },
};
const YEARS = 315_360_000;

interface Row {
  what: string;
  state?: HeadState;
  /** The answers, each so many seconds after the head was seen last, and what they mean. */
  answers: [second: number, answer: Answer, verdict: Verdict][];
  /** The head's sequence after them. */
  head: number;
  /** Our own clock, seconds off. */
  wallOff?: number;
  /** When the last comparison began that ruled a reset out, in seconds; always when absent. */
  same?: number;
}

const untimedHead: HeadState = { head: { sequence: 5_003, atMs: 0 }, timed: HEAD.timed };

const TABLE: Row[] = [
  // Newer.
  { what: "the next ledger", answers: [[5, { sequence: 5_001, closeTime: T + 5 }, "newer"]], head: 5_001 },
  { what: "the next ledger without a time", answers: [[5, { sequence: 5_001 }, "newer"]], head: 5_001 },
  { what: "1 000 ledgers at once", answers: [[0, { sequence: 6_000, closeTime: T }, "newer"]], head: 6_000 },
  { what: "one more than that", answers: [[0, { sequence: 6_001, closeTime: T }, "odd"]], head: 5_000 },
  { what: "200 more a second", answers: [[10, { sequence: 8_000, closeTime: T + 9 }, "newer"]], head: 8_000 },
  {
    what: "as many between two close times, though our own clocks stood still (a machine that slept)",
    answers: [[0, { sequence: 5_720, closeTime: T + 3_600 }, "newer"]],
    wallOff: 3_600,
    head: 5_720,
  },
  { what: "up to a minute ahead", answers: [[5, { sequence: 5_001, closeTime: T + 65 }, "newer"]], head: 5_001 },
  { what: "further ahead", answers: [[5, { sequence: 5_001, closeTime: T + 66 }, "odd"]], head: 5_000 },
  {
    what: "further ahead, as our own clock is",
    answers: [[5, { sequence: 5_001, closeTime: T + 3_600 }, "newer"]],
    wallOff: 3_600,
    head: 5_001,
  },
  { what: "closed before the head", answers: [[5, { sequence: 5_001, closeTime: T - 1 }, "odd"]], head: 5_000 },
  { what: "absurd height without a time", answers: [[5, { sequence: 2 ** 30 }, "odd"]], head: 5_000 },
  // Current.
  { what: "the head's", answers: [[5, { sequence: 5_000, closeTime: T }, "current"]], head: 5_000 },
  { what: "the head's without a time", answers: [[5, { sequence: 5_000 }, "current"]], head: 5_000 },
  {
    what: "the head's with another time",
    answers: [[5, { sequence: 5_000, closeTime: T + YEARS }, "odd"]],
    head: 5_000,
  },
  {
    what: "a time for a head that had none",
    state: untimedHead,
    answers: [[5, { sequence: 5_003, closeTime: T + 15 }, "current"]],
    head: 5_003,
  },
  // Lagging.
  { what: "older", answers: [[5, { sequence: 4_999, closeTime: T - 5 }, "lagging"]], head: 5_000 },
  { what: "older, closed with the head", answers: [[5, { sequence: 4_999, closeTime: T }, "lagging"]], head: 5_000 },
  { what: "older without a time", answers: [[5, { sequence: 4_999 }, "lagging"]], head: 5_000 },
  {
    what: "between the newest ledger that has a time and a head that has none",
    state: untimedHead,
    answers: [[5, { sequence: 5_001, closeTime: T + 5 }, "lagging"]],
    head: 5_003,
  },
  {
    what: "lagging for 30 s: the newest of them",
    answers: [[60, { sequence: 4_993 }, "lagging"], [70, { sequence: 4_995, closeTime: T - 25 }, "lagging"], [
      89.9,
      { sequence: 4_994, closeTime: T - 30 },
      "lagging",
    ], [90, { sequence: 4_994, closeTime: T - 30 }, "lagging"]],
    head: 4_995,
  },
  {
    what: "lagging for 30 s, but one showed the head",
    answers: [[60, { sequence: 4_993, closeTime: T - 35 }, "lagging"], [
      80,
      { sequence: 5_000, closeTime: T },
      "current",
    ], [95, { sequence: 4_995, closeTime: T - 25 }, "lagging"]],
    head: 5_000,
  },
  // Odd.
  { what: "older, closed later than the head", answers: [[5, { sequence: 40, closeTime: T + 5 }, "odd"]], head: 5_000 },
  {
    what: "a second one 2 s later that is plausible after it: down",
    answers: [[5, { sequence: 40, closeTime: T + 5 }, "odd"], [7, { sequence: 40, closeTime: T + 5 }, "newer"]],
    head: 40,
  },
  {
    what: "the same sooner",
    answers: [[5, { sequence: 40, closeTime: T + 5 }, "odd"], [6.9, { sequence: 40, closeTime: T + 5 }, "odd"]],
    head: 5_000,
  },
  {
    what: "the first of three counts (H3)",
    answers: [
      [5, { sequence: 23_000, closeTime: T + 90_000 }, "odd"],
      [6.5, { sequence: 23_000, closeTime: T + 90_000 }, "odd"],
      [7, { sequence: 23_001, closeTime: T + 90_002 }, "newer"],
    ],
    head: 23_001,
  },
  {
    what: "before a comparison has ruled a reset out",
    answers: [[5, { sequence: 40, closeTime: T + 5 }, "odd"], [8, { sequence: 40, closeTime: T + 5 }, "odd"]],
    same: 4,
    head: 5_000,
  },
  {
    what: "a comparison that began after the first one",
    answers: [[5, { sequence: 40, closeTime: T + 5 }, "odd"], [8, { sequence: 40, closeTime: T + 5 }, "newer"]],
    same: 6,
    head: 40,
  },
  {
    what: "two absurd heights, half a minute apart, that do not fit to each other (H2)",
    answers: [[5, { sequence: 900_000_000, closeTime: T + 5 }, "odd"], [35, {
      sequence: 700_000_000,
      closeTime: T + 35,
    }, "odd"]],
    head: 5_000,
  },
  {
    what: "one that does not fit to the first replaces it",
    answers: [
      [5, { sequence: 900_000_000, closeTime: T + 5 }, "odd"],
      [6, { sequence: 40, closeTime: T + 6 }, "odd"],
      [8, { sequence: 41, closeTime: T + 7 }, "newer"],
    ],
    head: 41,
  },
  {
    what: "the head's clears it",
    answers: [
      [5, { sequence: 40, closeTime: T + 5 }, "odd"],
      [6, { sequence: 5_000, closeTime: T }, "current"],
      [8, { sequence: 40, closeTime: T + 5 }, "odd"],
    ],
    head: 5_000,
  },
  {
    what: "a former network's, while the new one is small (H1)",
    state: { head: { sequence: 275, closeTime: T, atMs: 0 }, timed: { sequence: 275, closeTime: T, atMs: 0 } },
    answers: [[1, { sequence: 1_164_043, closeTime: T - 272 }, "odd"], [
      4,
      { sequence: 1_164_043, closeTime: T - 272 },
      "odd",
    ]],
    same: 0,
    head: 275,
  },
  // An empty store.
  { what: "one answer alone", state: {}, answers: [[0, { sequence: 700, closeTime: T }, "odd"]], head: 0 },
  {
    what: "two that fit to each other, in either order",
    state: {},
    answers: [[0, { sequence: 700, closeTime: T }, "odd"], [0, { sequence: 699, closeTime: T - 5 }, "lagging"]],
    head: 700,
  },
  {
    what: "the first one is absurd (H12)",
    state: {},
    answers: [
      [0, { sequence: 2 ** 30, closeTime: T }, "odd"],
      [0, { sequence: 700, closeTime: T }, "odd"],
      [0, { sequence: 701, closeTime: T + 5 }, "newer"],
    ],
    head: 701,
  },
  {
    what: "by their own times, whatever our clock says",
    state: {},
    answers: [[0, { sequence: 700, closeTime: T }, "odd"], [0, { sequence: 700, closeTime: T }, "newer"]],
    wallOff: -YEARS,
    head: 700,
  },
];

for (const { what, state: before = HEAD, answers, head, wallOff = 0, same = Infinity } of TABLE) {
  test(`an answer of a node: ${what}`, () => {
    let state = before;
    const verdicts: Verdict[] = [];
    for (const [second, answer] of answers) {
      const now = {
        monotonicMs: second * 1_000,
        wallSeconds: T + second + wallOff,
        sameAtMs: same === Infinity ? Infinity : same * 1_000,
      };
      const result = observe(state, answer, now);
      state = result.state;
      verdicts.push(result.verdict);
    }
    assert.deepEqual(verdicts, answers.map(([, , verdict]) => verdict));
    assert.equal(state.head?.sequence ?? 0, head);
  });
}

test("after a fall from a wrong height the following answers are not odd", () => {
  let state: HeadState = {
    head: { sequence: 5_050, closeTime: T, atMs: 0 },
    timed: { sequence: 5_050, closeTime: T, atMs: 0 },
  };
  const now = (second: number) => ({ monotonicMs: second * 1_000, wallSeconds: T + second, sameAtMs: -Infinity });
  for (const second of [1, 31]) ({ state } = observe(state, { sequence: 4_999, closeTime: T - 5 }, now(second)));
  assert.equal(state.head?.sequence, 4_999);
  assert.equal(observe(state, { sequence: 5_000, closeTime: T + 32 }, now(32)).verdict, "newer");
});

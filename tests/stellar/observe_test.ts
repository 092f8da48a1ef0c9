// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { type HeadState, observe, type Verdict } from "../../lib/stellar/observe.ts";

/** Unix seconds of the head's close in the rows below, which was seen last at monotonic 0. */
const T = 1_800_000_000;
const headAt = (sequence: number): HeadState => {
  const head = { sequence, closeTime: T, atMs: 0 };
  return { head, timed: head };
};
const HEAD = headAt(5_000);
const YEARS = 315_360_000;

/** An answer: so many seconds after the head was seen last; its sequence, and its close after the head's, where it says one. */
type Said = [second: number, sequence: number, closedAfter: number | undefined, verdict: Verdict];

interface More {
  /** The head before; `HEAD` when absent. */
  state?: HeadState;
  /** Our own clock, seconds off. */
  wallOff?: number;
  /** When the last comparison began that ruled a reset out, in seconds; always when absent. */
  same?: number;
}

const untimedHead: HeadState = { head: { sequence: 5_003, atMs: 0 }, timed: HEAD.timed };
const none = undefined;
const empty = { state: {} };

/** The answers, and the head's sequence after them. */
const TABLE: [what: string, answers: Said[], head: number, more?: More][] = [
  // Newer.
  ["the next ledger", [[5, 5_001, 5, "newer"]], 5_001],
  ["the next ledger without a time", [[5, 5_001, none, "newer"]], 5_001],
  ["1 000 ledgers at once", [[0, 6_000, 0, "newer"]], 6_000],
  ["1 001 ledgers at once", [[0, 6_001, 0, "odd"]], 5_000],
  ["200 more ledgers a second", [[10, 8_000, 9, "newer"]], 8_000],
  [
    "720 ledgers in an hour by their close times, while the gateway's clocks stood still",
    [[0, 5_720, 3_600, "newer"]],
    5_720,
    {
      wallOff: 3_600,
    },
  ],
  ["a close time up to a minute ahead", [[5, 5_001, 65, "newer"]], 5_001],
  ["a close time more than a minute ahead", [[5, 5_001, 66, "odd"]], 5_000],
  ["a close time an hour ahead, like the gateway's clock", [[5, 5_001, 3_600, "newer"]], 5_001, { wallOff: 3_600 }],
  ["a newer ledger that closed before the head", [[5, 5_001, -1, "odd"]], 5_000],
  ["an implausible height without a time", [[5, 2 ** 30, none, "odd"]], 5_000],
  // Current.
  ["the head's ledger", [[5, 5_000, 0, "current"]], 5_000],
  ["the head's ledger without a time", [[5, 5_000, none, "current"]], 5_000],
  ["the head's ledger with another time", [[5, 5_000, YEARS, "odd"]], 5_000],
  ["a time for a head without a time", [[5, 5_003, 15, "current"]], 5_003, { state: untimedHead }],
  // Lagging.
  ["an older ledger", [[5, 4_999, -5, "lagging"]], 5_000],
  ["an older ledger that closed with the head", [[5, 4_999, 0, "lagging"]], 5_000],
  ["an older ledger without a time", [[5, 4_999, none, "lagging"]], 5_000],
  ["a ledger between the last one with a time and a head without a time", [[5, 5_001, 5, "lagging"]], 5_003, {
    state: untimedHead,
  }],
  [
    "after 30 s of lagging answers the newest of them is the head",
    [[60, 4_993, none, "lagging"], [70, 4_995, -25, "lagging"], [89.9, 4_994, -30, "lagging"], [
      90,
      4_994,
      -30,
      "lagging",
    ]],
    4_995,
  ],
  [
    "30 s of lagging answers with one of the head's ledger",
    [[60, 4_993, -35, "lagging"], [80, 5_000, 0, "current"], [95, 4_995, -25, "lagging"]],
    5_000,
  ],
  // Odd.
  ["an older ledger that closed later than the head", [[5, 40, 5, "odd"]], 5_000],
  ["a second, plausible one 2 s later makes the head fall", [[5, 40, 5, "odd"], [7, 40, 5, "newer"]], 40],
  ["a second, plausible one less than 2 s later", [[5, 40, 5, "odd"], [6.9, 40, 5, "odd"]], 5_000],
  [
    "the 2 s run from the first of three answers (H3)",
    [[5, 23_000, 90_000, "odd"], [6.5, 23_000, 90_000, "odd"], [7, 23_001, 90_002, "newer"]],
    23_001,
  ],
  ["two odd answers before a comparison has ruled a reset out", [[5, 40, 5, "odd"], [8, 40, 5, "odd"]], 5_000, {
    same: 4,
  }],
  ["two odd answers with a comparison between them", [[5, 40, 5, "odd"], [8, 40, 5, "newer"]], 40, { same: 6 }],
  ["two implausible heights that contradict each other (H2)", [[5, 9e8, 5, "odd"], [35, 7e8, 35, "odd"]], 5_000],
  [
    "a contradicting odd answer replaces the first one",
    [[5, 9e8, 5, "odd"], [6, 40, 6, "odd"], [8, 41, 7, "newer"]],
    41,
  ],
  ["the head's ledger clears an odd answer", [[5, 40, 5, "odd"], [6, 5_000, 0, "current"], [8, 40, 5, "odd"]], 5_000],
  [
    "a former network's ledger, while the new network is small (H1)",
    [[1, 1_164_043, -272, "odd"], [4, 1_164_043, -272, "odd"]],
    275,
    { state: headAt(275), same: 0 },
  ],
  // An empty store.
  ["a single answer on an empty store", [[0, 700, 0, "odd"]], 0, empty],
  [
    "two plausible answers on an empty store, in either order",
    [[0, 700, 0, "odd"], [0, 699, -5, "lagging"]],
    700,
    empty,
  ],
  [
    "an implausible first answer on an empty store (H12)",
    [[0, 2 ** 30, 0, "odd"], [0, 700, 0, "odd"], [0, 701, 5, "newer"]],
    701,
    empty,
  ],
  ["two answers on an empty store, with a wrong gateway clock", [[0, 700, 0, "odd"], [0, 700, 0, "newer"]], 700, {
    ...empty,
    wallOff: -YEARS,
  }],
];

for (const [what, answers, head, { state: before = HEAD, wallOff = 0, same = Infinity } = {}] of TABLE) {
  test(`an answer of a node: ${what}`, () => {
    let state = before;
    const verdicts = answers.map(([second, sequence, closedAfter]) => {
      const answer = closedAfter === undefined ? { sequence } : { sequence, closeTime: T + closedAfter };
      const now = { monotonicMs: second * 1_000, wallSeconds: T + second + wallOff, sameAtMs: same * 1_000 };
      const result = observe(state, answer, now);
      state = result.state;
      return result.verdict;
    });
    assert.deepEqual(verdicts, answers.map(([, , , verdict]) => verdict));
    assert.equal(state.head?.sequence ?? 0, head);
  });
}

test("after a fall from a wrong height the following answers are not odd", () => {
  let state = headAt(5_050);
  const now = (second: number) => ({ monotonicMs: second * 1_000, wallSeconds: T + second, sameAtMs: -Infinity });
  for (const second of [1, 31]) ({ state } = observe(state, { sequence: 4_999, closeTime: T - 5 }, now(second)));
  assert.equal(state.head?.sequence, 4_999);
  assert.equal(observe(state, { sequence: 5_000, closeTime: T + 32 }, now(32)).verdict, "newer");
});

// needs: runtime
import assert from "node:assert/strict";
import { test } from "node:test";
import { isoSeconds } from "../lib/clock.ts";

test("isoSeconds writes the same as Date for times of any day, in any order", () => {
  const DAY_MS = 86_400_000;
  const beginning = Date.parse("2026-01-01T00:00:00Z");
  const edges = [0, 1, 999, 1_000, 59_999, 60_000, 3_599_999, 3_600_000, DAY_MS - 1, DAY_MS, -1, -1_000];
  const times = [
    beginning,
    0,
    Date.parse("1969-12-31T12:00:00Z"),
    Date.parse("9999-12-31T00:00:00Z"),
    8.64e15 - DAY_MS,
  ];
  for (const edge of edges) {
    for (const time of times) {
      assert.equal(isoSeconds(time + edge), `${new Date(time + edge).toISOString().slice(0, -5)}Z`);
    }
  }
});

test("isoSeconds throws a RangeError for an invalid time, and for the same time again", () => {
  for (let n = 0; n < 2; n++) {
    for (const time of [NaN, Infinity, 8.64e15 + 86_400_000]) assert.throws(() => isoSeconds(time), RangeError);
  }
});

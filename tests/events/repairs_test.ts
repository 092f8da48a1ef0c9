// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { firstState } from "../../lib/events/coverage.ts";
import { withMark } from "../../lib/events/repairs.ts";

const at = (scannedLedger: number) => ({ ...firstState(["C"], 1), scannedLedger });

test("a mark of a time that was wrong is dropped, so that its ledgers are looked at with the next one's", () => {
  const behindTime = withMark(at(10), 40 * 86_400);
  assert.deepEqual(behindTime.secondLook!.marks, [{ ledger: 10, seconds: 40 * 86_400 }]);
  const corrected = withMark({ ...behindTime, scannedLedger: 11 }, 1_000);
  assert.deepEqual(corrected.secondLook!.marks, [{ ledger: 11, seconds: 1_000 }]);
});

test("marks are half a minute apart, and about ledgers that are new", () => {
  const marksAfter = (scannedLedger: number, seconds: number) =>
    withMark({ ...withMark(at(10), 1_000), scannedLedger }, seconds).secondLook!.marks.map(({ ledger }) => ledger);
  assert.deepEqual(marksAfter(11, 1_020), [10]);
  assert.deepEqual(marksAfter(10, 1_040), [10]);
  assert.deepEqual(marksAfter(11, 1_030), [10, 11]);
});

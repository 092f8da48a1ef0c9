import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { Submission, SubmissionOutcome } from "../../lib/store/submission.ts";
import type { Subject } from "./store_contract.ts";

export function submissionContract({ store, anotherHandle }: Subject): void {
  const sample = (n: number): Submission => ({
    hash: n.toString(16).padStart(64, "0"),
    validUntil: 1_793_491_500,
    submittedAtMs: 1_793_491_200_000 + n,
    source: `G${n % 3}`,
    operation: "ab".repeat(32),
  });
  const success: SubmissionOutcome = { status: "success", ledger: 7 };
  const failed: SubmissionOutcome = {
    status: "failed",
    ledger: 8,
    error: { code: "contract_refused", message: "no", contractError: "DuplicateAuth" },
  };
  const rejected: SubmissionOutcome = { status: "rejected", error: { code: "invalid_request", message: "txBadSeq" } };
  const outcomeOf = async (n: number) => (await store().submissions.get(sample(n).hash))?.outcome;
  const withoutOutcome = async (page: { source?: string; after?: string; limit: number }) =>
    (await store().submissions.withoutOutcome(page)).map(({ hash }) => parseInt(hash, 16));

  test("submissions.get returns the record, undefined for a hash never sent", async () => {
    await store().submissions.record(sample(1));
    assert.deepEqual(await store().submissions.get(sample(1).hash), sample(1));
    assert.equal(await store().submissions.get(sample(2).hash), undefined);
  });

  test("submissions.record keeps the first record of a hash", async () => {
    await store().submissions.record(sample(1));
    await store().submissions.record({ ...sample(1), validUntil: 1, submittedAtMs: 1 });
    assert.deepEqual(await store().submissions.get(sample(1).hash), sample(1));
  });

  test("one of several simultaneous records of a hash stays, complete", async () => {
    const notes = [1, 2, 3].map((n) => ({ ...sample(1), validUntil: n, submittedAtMs: n }));
    await Promise.all(notes.map((note) => store().submissions.record(note)));
    const kept = (await store().submissions.get(sample(1).hash))!;
    assert.ok(notes.some((note) => note.validUntil === kept.validUntil && note.submittedAtMs === kept.submittedAtMs));
  });

  test("many simultaneous submissions are all recorded", async () => {
    const all = Array.from({ length: 200 }, (_, n) => sample(n));
    await Promise.all(all.map((submission) => store().submissions.record(submission)));
    for (const submission of all) assert.deepEqual(await store().submissions.get(submission.hash), submission);
  });

  test("submissions.prune deletes submissions before the time, 500 at a call, and returns their number", async () => {
    await Promise.all(Array.from({ length: 612 }, (_, n) => store().submissions.record(sample(n))));
    const before = sample(610).submittedAtMs;
    assert.equal(await store().submissions.prune(before), 500);
    assert.equal(await store().submissions.prune(before), 110);
    assert.equal(await store().submissions.prune(before), 0);
    assert.equal(await store().submissions.get(sample(609).hash), undefined);
    assert.deepEqual(await store().submissions.get(sample(610).hash), sample(610));
    await store().submissions.record({ ...sample(609), validUntil: 7 });
    assert.equal((await store().submissions.get(sample(609).hash))?.validUntil, 7);
  });

  test("submissions.recordOutcome records a submission's outcome, and skips an unknown hash", async () => {
    for (const [n, outcome] of [success, failed, rejected].entries()) {
      await store().submissions.record(sample(n));
      await store().submissions.recordOutcome(sample(n).hash, outcome);
      assert.deepEqual(await store().submissions.get(sample(n).hash), { ...sample(n), outcome });
    }
    await store().submissions.recordOutcome(sample(9).hash, success);
    assert.equal(await store().submissions.get(sample(9).hash), undefined);
  });

  test("an outcome with a ledger is final, and a newer outcome replaces one without a ledger", async () => {
    await store().submissions.record(sample(1));
    const tooLate: SubmissionOutcome = { status: "failed", error: { code: "invalid_request", message: "txTooLate" } };
    for (const outcome of [rejected, tooLate, success]) {
      await store().submissions.recordOutcome(sample(1).hash, outcome);
      assert.deepEqual(await outcomeOf(1), outcome);
    }
    await store().submissions.recordOutcome(sample(1).hash, rejected);
    assert.deepEqual(await outcomeOf(1), success);
  });

  test("submissions.record removes an outcome without a ledger, because the gateway resends the envelope", async () => {
    await store().submissions.record(sample(1));
    await store().submissions.recordOutcome(sample(1).hash, rejected);
    await store().submissions.record({ ...sample(1), validUntil: 1, submittedAtMs: 1 });
    assert.deepEqual(await store().submissions.get(sample(1).hash), sample(1));
    assert.deepEqual(await withoutOutcome({ limit: 9 }), [1]);
    await store().submissions.recordOutcome(sample(1).hash, failed);
    await store().submissions.record(sample(1));
    assert.deepEqual(await outcomeOf(1), failed);
    assert.deepEqual(await withoutOutcome({ limit: 9 }), []);
  });

  test("submissions.withoutOutcome returns pages by hash, of one account or of all", async () => {
    await Promise.all(Array.from({ length: 12 }, (_, n) => store().submissions.record(sample(n))));
    const { source: _, operation: __, ...ofAFormerProgram } = sample(20);
    await store().submissions.record(ofAFormerProgram);
    await store().submissions.recordOutcome(sample(4).hash, success);
    await store().submissions.recordOutcome(sample(5).hash, rejected);
    assert.deepEqual(await withoutOutcome({ limit: 500 }), [0, 1, 2, 3, 6, 7, 8, 9, 10, 11]);
    assert.deepEqual(await withoutOutcome({ limit: 3, after: sample(3).hash }), [6, 7, 8]);
    assert.deepEqual(await withoutOutcome({ source: "G1", limit: 500 }), [1, 7, 10]);
    assert.deepEqual(await withoutOutcome({ source: "G1", limit: 1, after: sample(1).hash }), [7]);
    assert.deepEqual(await withoutOutcome({ source: "G3", limit: 9 }), []);
    assert.deepEqual(await store().submissions.withoutOutcome({ source: "G2", limit: 1 }), [sample(2)]);
    await store().submissions.prune(sample(8).submittedAtMs);
    assert.deepEqual(await withoutOutcome({ limit: 500 }), [8, 9, 10, 11]);
    assert.deepEqual(await withoutOutcome({ source: "G1", limit: 500 }), [10]);
  });

  test("a page of submissions without an outcome is full while more follow, even if outcomes arrive meanwhile", async () => {
    const other = await anotherHandle();
    await Promise.all(Array.from({ length: 200 }, (_, n) => store().submissions.record(sample(n))));
    const noted = Promise.all(
      Array.from({ length: 100 }, (_, n) => other.submissions.recordOutcome(sample(n).hash, success)),
    );
    let isOver = false;
    void noted.then(() => isOver = true);
    while (!isOver) {
      assert.equal((await withoutOutcome({ limit: 50 })).length, 50);
      await yieldToOthers();
    }
    await noted;
  });
}

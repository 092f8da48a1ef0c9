import assert from "node:assert/strict";
import { test } from "node:test";
import type { Submission } from "../../lib/store/store.ts";
import type { Subject } from "./store_contract.ts";

export function submissionContract({ store }: Subject): void {
  const sample = (n: number): Submission => ({
    hash: n.toString(16).padStart(64, "0"),
    validUntil: 1_793_491_500,
    submittedAtMs: 1_793_491_200_000 + n,
  });

  test("submissions.get answers what was noted, undefined for a hash never sent", async () => {
    await store().submissions.record(sample(1));
    assert.deepEqual(await store().submissions.get(sample(1).hash), sample(1));
    assert.equal(await store().submissions.get(sample(2).hash), undefined);
  });

  test("submissions.record keeps the first note on a hash", async () => {
    await store().submissions.record(sample(1));
    await store().submissions.record({ ...sample(1), validUntil: 1, submittedAtMs: 1 });
    assert.deepEqual(await store().submissions.get(sample(1).hash), sample(1));
  });

  test("of notes on one hash made at once, one is kept whole", async () => {
    const notes = [1, 2, 3].map((n) => ({ ...sample(1), validUntil: n, submittedAtMs: n }));
    await Promise.all(notes.map((note) => store().submissions.record(note)));
    const kept = (await store().submissions.get(sample(1).hash))!;
    assert.ok(notes.some((note) => note.validUntil === kept.validUntil && note.submittedAtMs === kept.submittedAtMs));
  });

  test("many submissions noted at once are all noted", async () => {
    const all = Array.from({ length: 200 }, (_, n) => sample(n));
    await Promise.all(all.map((submission) => store().submissions.record(submission)));
    for (const submission of all) assert.deepEqual(await store().submissions.get(submission.hash), submission);
  });

  test("submissions.prune forgets those before the time, 500 at a call, and says how many", async () => {
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

  test("what was being noted when the store is closed is noted or rejected, never left open", async () => {
    const outcomes = Promise.allSettled([store().submissions.record(sample(1)), store().submissions.record(sample(2))]);
    await store().close();
    assert.deepEqual((await outcomes).map(({ status }) => status), ["fulfilled", "fulfilled"]);
  });
}

// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayError } from "../../lib/errors.ts";
import { createOutcomeLookUp, createSubmissionLog } from "../../lib/gateway/submission_log.ts";
import { createUnresolvedSubmissions } from "../../lib/gateway/unresolved_submissions.ts";
import { openStore } from "../../lib/store/open.ts";
import { append, eventAt, memoryStore } from "../webhooks/parts.ts";

const CONFIRMED = { closeTime: 400 };
const NOW_MS = 1_793_491_200_000;
const hashOf = (n: number) => n.toString(16).padStart(64, "0");
const noteOf = (n: number, validUntil = 1_793_491_500) => {
  return { hash: hashOf(n), validUntil, source: "G1", operation: "ab" };
};

test("the submission log returns an outcome as it was recorded, with every field of its error that a caller gets", async () => {
  const submissionLog = createSubmissionLog(await memoryStore(), () => NOW_MS);
  const reported = { contractError: "AgentNotAuthorized", reason: "policy_expired", retry: "prepare_again" } as const;
  const error = new GatewayError("contract_refused", "payment_escrow.authorize refused", {
    ...reported,
    ...{ param: "operation.amount", headers: { Location: "/nowhere" }, cause: new Error("never kept") },
  });
  await submissionLog.record(noteOf(1));
  assert.deepEqual(await submissionLog.get(hashOf(1)), { validUntil: 1_793_491_500 });
  await submissionLog.recordOutcome(hashOf(1), { status: "failed", ledger: 7, error });
  const { outcome } = (await submissionLog.get(hashOf(1)))!;
  const { code, message, contractError, reason, retry, param, status, headers, cause } = outcome!.error!;
  assert.deepEqual([outcome!.status, outcome!.ledger, code, message], ["failed", 7, error.code, error.message]);
  assert.deepEqual({ contractError, reason, retry, param }, { ...reported, param: error.param });
  assert.deepEqual([status, headers, cause], [422, {}, undefined]);
  await submissionLog.record(noteOf(2));
  await submissionLog.recordOutcome(hashOf(2), { status: "success", ledger: 8 });
  assert.deepEqual((await submissionLog.get(hashOf(2)))!.outcome, { status: "success", ledger: 8 });
  assert.equal(await submissionLog.get(hashOf(3)), undefined);
});

test("the submission log returns a newer program's error with known values in place of unknown ones", async () => {
  const store = await memoryStore();
  const submissionLog = createSubmissionLog(store, () => NOW_MS);
  await submissionLog.record(noteOf(1));
  const error = { code: "brand_new", message: "no", retry: "tomorrow" };
  await store.submissions.recordOutcome(hashOf(1), { status: "rejected", error });
  const restored = (await submissionLog.get(hashOf(1)))!.outcome!.error!;
  assert.deepEqual([restored.code, restored.message, restored.retry], ["invalid_request", "no", "never"]);
});

test("the submission log returns the inner transaction of a fee bump, and of no other transaction", async () => {
  const submissionLog = createSubmissionLog(await memoryStore(), () => NOW_MS);
  await submissionLog.record({ ...noteOf(2), inner: hashOf(1) });
  await submissionLog.record(noteOf(1));
  assert.equal(await submissionLog.innerOf(hashOf(2)), hashOf(1));
  assert.equal(await submissionLog.innerOf(hashOf(1)), undefined);
  assert.ok(await submissionLog.get(hashOf(2)));
});

test("the submission log finds a transaction's ledger by an event of that transaction", async () => {
  const store = await memoryStore();
  const submissionLog = createSubmissionLog(store, () => NOW_MS);
  await append(store, [eventAt(123, 1, { txHash: hashOf(5) })], 200, NOW_MS);
  assert.equal(await submissionLog.ledgerOf(hashOf(5)), 123);
  assert.equal(await submissionLog.ledgerOf(hashOf(6)), undefined);
});

test("the submission log returns a fee bump's inner transaction also when the store's clock is forty days ahead", async () => {
  let nowMs = NOW_MS;
  const store = await openStore("memory:", { now: () => nowMs });
  const submissionLog = createSubmissionLog(store, () => nowMs);
  await submissionLog.record({ ...noteOf(2), inner: hashOf(1) });
  nowMs += 40 * 86_400_000;
  assert.equal(await submissionLog.innerOf(hashOf(2)), hashOf(1));
  await store.close();
});

test("the lookup asks for all 449 expired submissions without an outcome, and continues after one that the node does not know", async () => {
  const store = await memoryStore();
  const submissionLog = createSubmissionLog(store, () => NOW_MS);
  for (let n = 0; n < 450; n++) await submissionLog.record(noteOf(n, n === 449 ? 1_000 : 100));
  const asked: string[] = [];
  const status = async (hash: string, beforeNoted?: (hash: string) => Promise<void>) => {
    asked.push(hash);
    if (hash === hashOf(7)) throw new GatewayError("not_found", "forgotten");
    await beforeNoted?.(hash);
    await submissionLog.recordOutcome(hash, { status: "success", ledger: 7 });
    return { hash, status: "success" as const };
  };
  const unresolvedSubmissions = createUnresolvedSubmissions(store, () => CONFIRMED);
  const lookUpOutcomes = createOutcomeLookUp({
    submissions: store.submissions,
    status,
    networkSeconds: () => 500,
    onUnresolved: unresolvedSubmissions.add,
  });
  await lookUpOutcomes(new AbortController().signal);
  assert.equal(asked.length, 449);
  const left = (await store.submissions.withoutOutcome({ limit: 9 })).map(({ hash }) => hash);
  assert.deepEqual(left, [hashOf(7), hashOf(449)]);
  const unresolved = (await unresolvedSubmissions.of("G1", "ab")).map(({ hash }) => hash);
  assert.equal(unresolved.length, 52, "the newest ones, and those without an outcome");
  assert.deepEqual([unresolved[0], ...unresolved.slice(50)], [hashOf(448), hashOf(7), hashOf(449)]);
  await lookUpOutcomes(AbortSignal.abort());
  assert.equal(asked.length, 449);
});

test("the store keeps an unreported outcome for its account until it is resolved, for at most one day", async () => {
  const store = await memoryStore();
  const submissionLog = createSubmissionLog(store, () => NOW_MS);
  const confirmed = { ...CONFIRMED };
  const unresolvedSubmissions = createUnresolvedSubmissions(store, () => confirmed);
  for (const n of [1, 2, 3]) {
    await submissionLog.record({ ...noteOf(n), source: n === 3 ? "G3" : "G1" });
    await submissionLog.recordOutcome(hashOf(n), { status: "success", ledger: 7 });
  }
  for (const n of [1, 2, 3, 2, 9]) await unresolvedSubmissions.add(hashOf(n));
  const kept = async (source: string) => (await unresolvedSubmissions.of(source, "ab")).map(({ hash }) => hash);
  assert.deepEqual([await kept("G1"), await kept("G3")], [[hashOf(2), hashOf(1)], [hashOf(3)]]);
  await unresolvedSubmissions.resolve(hashOf(1));
  await unresolvedSubmissions.resolve(hashOf(9));
  assert.deepEqual([await kept("G1"), await kept("G3")], [[hashOf(2)], [hashOf(3)]]);
  confirmed.closeTime += 86_401;
  assert.deepEqual([await kept("G1"), await kept("G3")], [[], []]);
});

// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createOutcomeLookUp, createSubmissionLog } from "../../lib/gateway/submission_log.ts";
import { createUnresolvedSubmissions } from "../../lib/gateway/unresolved_submissions.ts";
import { createOutcomeWarnings } from "../../lib/escrow/operations/outcome_warnings.ts";
import { contractCall, operationDigest } from "../../lib/escrow/operations/operations.ts";
import { openStore } from "../../lib/store/open.ts";
import { StoreError } from "../../lib/store/store.ts";
import { bentStore } from "../store/bent_store.ts";
import { memoryStore } from "../webhooks/parts.ts";

const CONFIRMED = { closeTime: 400 };
const NOW_MS = 1_793_491_200_000;
const HASH = "01".repeat(32);
const SOURCE = "GAAZI4TCR3TY5OJHCTJC2A4QSY6CJWJH5IAJTGKIN2ER7LBNVKOCCWN7";
const CONTRACT = "CA5S4S7QGHJHJWVJBYL3CXZXZTNGKXMNZVDAEQNN7NUXFP4D7BYK7HIX";

const contracts = { wallet: CONTRACT, paymentEscrow: CONTRACT, agentRegistry: CONTRACT } as never;
const operation = { kind: "fundEscrow", deviceHash: "ab".repeat(32), asset: CONTRACT, amount: "5" } as never;
const digest = operationDigest(contractCall(contracts, SOURCE, operation));

/** A store with one submitted payment, and whose sharedState fails once. */
async function sentOnce() {
  const store = await memoryStore();
  const submissionLog = createSubmissionLog(store, () => NOW_MS);
  await submissionLog.record({ hash: HASH, validUntil: 100, source: SOURCE, operation: digest });
  let failures = 0;
  const away = new StoreError("unavailable", "the store is away");
  const bent = bentStore(store, {
    sharedState: {
      change: (...step) => failures++ === 0 ? Promise.reject(away) : store.sharedState.change(...step),
    },
  });
  const unresolvedSubmissions = createUnresolvedSubmissions(bent, () => CONFIRMED);
  /** The status of a node that knows the transaction. The log records this outcome. */
  const status = async (hash: string, beforeNoted?: (hash: string) => Promise<void>) => {
    await beforeNoted?.(hash);
    await submissionLog.recordOutcome(hash, { status: "success", ledger: 7 });
    return { hash, status: "success" as const, ledger: 7 };
  };
  const { of: unresolved, add } = unresolvedSubmissions;
  const warning = createOutcomeWarnings({ contracts, status, unresolved, keepUnresolved: add });
  const { submissions } = store;
  const lookUp = createOutcomeLookUp({ submissions, status, networkSeconds: () => 500, onUnresolved: add });
  return {
    warning: () => warning({ source: SOURCE, operation }),
    lookUp,
    lost: () => unresolvedSubmissions.of(SOURCE, digest),
  };
}

test("a caller that prepares a payment again gets a warning of the lost answer, also after the store failed once", async () => {
  const { warning } = await sentOnce();
  await warning().catch(() => {});
  assert.match(await warning() ?? "no warning", /was applied in ledger 7/);
});

test("the lookup finds a payment with an unreported outcome again, after the store failed during the first lookup", async () => {
  const { lookUp, lost } = await sentOnce();
  const signal = new AbortController().signal;
  await lookUp(signal).catch(() => {});
  await lookUp(signal);
  assert.deepEqual((await lost()).map(({ hash }) => hash), [HASH]);
});

test("a caller that prepares a payment again gets a warning of the fourth payment although the first three failed", async () => {
  const hashes = ["01", "02", "03", "04"].map((digits) => digits.repeat(32));
  const warning = createOutcomeWarnings({
    contracts,
    status: (hash) => Promise.resolve({ hash, status: hash === hashes[3] ? "success" : "failed" }),
    unresolved: () => Promise.resolve(hashes.map((hash) => ({ hash, operation: digest }))),
    keepUnresolved: () => Promise.resolve(),
  });
  assert.match(await warning({ source: SOURCE, operation }) ?? "no warning", new RegExp(hashes[3]!));
});

test("the store of unresolved submissions returns each payment of a batch of 120 lost answers", async () => {
  const store = await memoryStore();
  const submissionLog = createSubmissionLog(store, () => NOW_MS);
  const unresolvedSubmissions = createUnresolvedSubmissions(store, () => CONFIRMED);
  const batch = Array.from({ length: 120 }, (_, n) => n.toString(16).padStart(64, "0"));
  for (const hash of batch) {
    await submissionLog.record({ hash, validUntil: 100, source: SOURCE, operation: hash });
    await submissionLog.recordOutcome(hash, { status: "success", ledger: 7 });
    await unresolvedSubmissions.add(hash);
  }
  for (const hash of batch) assert.deepEqual(await unresolvedSubmissions.of(SOURCE, hash), [{ hash, operation: hash }]);
  await unresolvedSubmissions.resolve(batch[0]!);
  assert.deepEqual(await unresolvedSubmissions.of(SOURCE, batch[0]!), []);
});

test("the store of unresolved submissions returns a payment although its account has 1,200 payments without an outcome", async () => {
  const store = await memoryStore();
  const submissionLog = createSubmissionLog(store, () => NOW_MS);
  const batch = Array.from({ length: 1_200 }, (_, n) => n.toString(16).padStart(64, "0"));
  await Promise.all(
    batch.map((hash) => submissionLog.record({ hash, validUntil: 100, source: SOURCE, operation: hash })),
  );
  const { of } = createUnresolvedSubmissions(store, () => CONFIRMED);
  for (const hash of [batch[0]!, batch[700]!, batch.at(-1)!]) {
    assert.deepEqual(await of(SOURCE, hash), [{ hash, operation: hash }]);
  }
});

test("the store of unresolved submissions returns a payment whose outcome another gateway records at that moment", async () => {
  const store = await memoryStore();
  const submissionLog = createSubmissionLog(store, () => NOW_MS);
  await submissionLog.record({ hash: HASH, validUntil: 100, source: SOURCE, operation: "ab" });
  /** Another gateway records the outcome between the two reads. */
  async function findOut<T>(read: Promise<T>): Promise<T> {
    const found = await read;
    await createUnresolvedSubmissions(store, () => CONFIRMED).add(HASH);
    await submissionLog.recordOutcome(HASH, { status: "success", ledger: 7 });
    return found;
  }
  const bent = bentStore(store, {
    submissions: { withoutOutcome: (page) => findOut(store.submissions.withoutOutcome(page)) },
    sharedState: { read: (name) => findOut(store.sharedState.read(name)) },
  });
  const unresolved = await createUnresolvedSubmissions(bent, () => CONFIRMED).of(SOURCE, "ab");
  assert.deepEqual(unresolved.map(({ hash }) => hash), [HASH]);
});

test("a payment stays unresolved for one day of the network's time, whatever the store's clock shows", async () => {
  let nowMs = NOW_MS;
  const store = await openStore("memory:", { now: () => nowMs });
  const submissionLog = createSubmissionLog(store, () => nowMs);
  const [first, second] = ["01", "02"].map((digits) => digits.repeat(32));
  for (const hash of [first!, second!]) {
    await submissionLog.record({ hash, validUntil: 100, source: SOURCE, operation: "ab" });
    await submissionLog.recordOutcome(hash, { status: "success", ledger: 7 });
  }
  const confirmed = { closeTime: 400 };
  const unresolvedSubmissions = createUnresolvedSubmissions(store, () => confirmed);
  const hashes = async () => (await unresolvedSubmissions.of(SOURCE, "ab")).map(({ hash }) => hash);
  await unresolvedSubmissions.add(first!);
  for (const aheadMs of [40 * 86_400_000, -40 * 86_400_000]) {
    nowMs = NOW_MS + aheadMs;
    assert.deepEqual(await hashes(), [first]);
  }
  confirmed.closeTime += 86_400;
  await unresolvedSubmissions.add(second!);
  nowMs = NOW_MS;
  assert.deepEqual(await hashes(), [second, first]);
  confirmed.closeTime += 1;
  assert.deepEqual(await hashes(), [second]);
  await store.close();
});

// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createJournal, createOutcomeLookUp } from "../../lib/gateway/journal.ts";
import { createLostAnswers, createUntold } from "../../lib/gateway/lost_answers.ts";
import { createOutcomeWarnings } from "../../lib/escrow/operations/unknown_outcomes.ts";
import { contractCall, operationDigest } from "../../lib/escrow/operations/operations.ts";
import { openStore } from "../../lib/store/open.ts";
import { StoreError } from "../../lib/store/store.ts";
import { memoryStore } from "../webhooks/parts.ts";

const CONFIRMED = { closeTime: 400 };
const NOW_MS = 1_793_491_200_000;
const HASH = "01".repeat(32);
const SOURCE = "GAAZI4TCR3TY5OJHCTJC2A4QSY6CJWJH5IAJTGKIN2ER7LBNVKOCCWN7";
const CONTRACT = "CA5S4S7QGHJHJWVJBYL3CXZXZTNGKXMNZVDAEQNN7NUXFP4D7BYK7HIX";

/** A store in which one payment was sent, and whose registers fail once. */
async function sentOnce() {
  const contracts = { wallet: CONTRACT, paymentEscrow: CONTRACT, agentRegistry: CONTRACT } as never;
  const operation = { kind: "fundEscrow", deviceHash: "ab".repeat(32), asset: CONTRACT, amount: "5" } as never;
  const store = await memoryStore();
  const journal = createJournal(store, () => NOW_MS);
  const digest = operationDigest(contractCall(contracts, SOURCE, operation));
  await journal.record({ hash: HASH, validUntil: 100, source: SOURCE, operation: digest });
  let failures = 0;
  const registers = Object.create(store.registers, {
    change: {
      value: (...args: Parameters<typeof store.registers.change>) =>
        failures++ === 0
          ? Promise.reject(new StoreError("unavailable", "the store is away"))
          : store.registers.change(...args),
    },
  });
  const lostAnswers = createLostAnswers({ registers, submissions: store.submissions }, () => CONFIRMED);
  /** As of a node that knows of it: what it says is noted. */
  const status = async (hash: string, beforeNoted?: (hash: string) => Promise<void>) => {
    await beforeNoted?.(hash);
    await journal.recordOutcome(hash, { status: "success", ledger: 7 });
    return { hash, status: "success" as const, ledger: 7 };
  };
  const warning = createOutcomeWarnings({
    contracts,
    status,
    untold: createUntold(store, lostAnswers),
    keepUntold: lostAnswers.add,
  });
  const lookUp = createOutcomeLookUp({
    submissions: store.submissions,
    status,
    networkSeconds: () => 500,
    onUntold: lostAnswers.add,
  });
  return { warning: () => warning({ source: SOURCE, operation }), lookUp, lost: () => lostAnswers.of(SOURCE, digest) };
}

test("who prepares again is warned of a payment whose answer was lost, also where the store failed on the first warning", async () => {
  const { warning } = await sentOnce();
  await warning().catch(() => {});
  assert.match(await warning() ?? "no warning", /was applied in ledger 7/);
});

test("a payment that nobody was told of is found again where the store failed as it was looked up", async () => {
  const { lookUp, lost } = await sentOnce();
  const signal = new AbortController().signal;
  await lookUp(signal).catch(() => {});
  await lookUp(signal);
  assert.deepEqual((await lost()).map(({ hash }) => hash), [HASH]);
});

test("who prepares again is warned though the first that are looked at came to nothing", async () => {
  const contracts = { wallet: CONTRACT, paymentEscrow: CONTRACT, agentRegistry: CONTRACT } as never;
  const operation = { kind: "fundEscrow", deviceHash: "ab".repeat(32), asset: CONTRACT, amount: "5" } as never;
  const digest = operationDigest(contractCall(contracts, SOURCE, operation));
  const hashes = ["01", "02", "03", "04"].map((digits) => digits.repeat(32));
  const warning = createOutcomeWarnings({
    contracts,
    status: (hash) => Promise.resolve({ hash, status: hash === hashes[3] ? "success" : "failed" }),
    untold: () => Promise.resolve(hashes.map((hash) => ({ hash, operation: digest }))),
    keepUntold: () => Promise.resolve(),
  });
  assert.match(await warning({ source: SOURCE, operation }) ?? "no warning", new RegExp(hashes[3]!));
});

test("a batch of payments whose answers were all lost is warned of from its first to its last", async () => {
  const store = await memoryStore();
  const journal = createJournal(store, () => NOW_MS);
  const lostAnswers = createLostAnswers(store, () => CONFIRMED);
  const batch = Array.from({ length: 120 }, (_, n) => n.toString(16).padStart(64, "0"));
  for (const hash of batch) {
    await journal.record({ hash, validUntil: 100, source: SOURCE, operation: hash });
    await lostAnswers.add(hash);
  }
  for (const hash of batch) assert.deepEqual(await lostAnswers.of(SOURCE, hash), [{ hash, operation: hash }]);
  await lostAnswers.told(batch[0]!);
  assert.deepEqual(await lostAnswers.of(SOURCE, batch[0]!), []);
});

test("who prepares again is warned of a payment, however many others of his account are without an outcome", async () => {
  const store = await memoryStore();
  const journal = createJournal(store, () => NOW_MS);
  const batch = Array.from({ length: 1_200 }, (_, n) => n.toString(16).padStart(64, "0"));
  await Promise.all(batch.map((hash) => journal.record({ hash, validUntil: 100, source: SOURCE, operation: hash })));
  const untold = createUntold(store, createLostAnswers(store, () => CONFIRMED));
  for (const hash of [batch[0]!, batch[700]!, batch.at(-1)!]) {
    assert.deepEqual(await untold(SOURCE, hash), [{ hash, operation: hash }]);
  }
});

test("who prepares again just as his payment is found to be applied is warned of it", async () => {
  const store = await memoryStore();
  const journal = createJournal(store, () => NOW_MS);
  await journal.record({ hash: HASH, validUntil: 100, source: SOURCE, operation: "ab" });
  const lostAnswers = createLostAnswers(store, () => CONFIRMED);
  /** As by another gateway, while the second question is on its way. */
  async function findOut(): Promise<void> {
    await lostAnswers.add(HASH);
    await journal.recordOutcome(HASH, { status: "success", ledger: 7 });
  }
  async function of(source: string, operation: string) {
    const lost = await lostAnswers.of(source, operation);
    await findOut();
    return lost;
  }
  async function withoutOutcome(page: Parameters<typeof store.submissions.withoutOutcome>[0]) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return await store.submissions.withoutOutcome(page);
  }
  const untold = createUntold({ submissions: { withoutOutcome } }, { of });
  assert.equal((await untold(SOURCE, "ab"))[0]?.hash, HASH);
});

test("who prepares again is warned for a day by the network's time, however the store's clock stands", async () => {
  let nowMs = NOW_MS;
  const store = await openStore("memory:", { now: () => nowMs });
  const journal = createJournal(store, () => nowMs);
  const [first, second] = ["01", "02"].map((digits) => digits.repeat(32));
  for (const hash of [first!, second!]) {
    await journal.record({ hash, validUntil: 100, source: SOURCE, operation: "ab" });
  }
  const confirmed = { closeTime: 400 };
  const lostAnswers = createLostAnswers(store, () => confirmed);
  const hashes = async () => (await lostAnswers.of(SOURCE, "ab")).map(({ hash }) => hash);
  await lostAnswers.add(first!);
  for (const aheadMs of [40 * 86_400_000, -40 * 86_400_000]) {
    nowMs = NOW_MS + aheadMs;
    assert.deepEqual(await hashes(), [first]);
  }
  confirmed.closeTime += 86_400;
  await lostAnswers.add(second!);
  nowMs = NOW_MS;
  assert.deepEqual(await hashes(), [second, first]);
  confirmed.closeTime += 1;
  assert.deepEqual(await hashes(), [second]);
  await store.close();
});

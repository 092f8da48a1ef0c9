// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore } from "../../lib/store/open.ts";
import { createRetention } from "../../lib/store/retention.ts";
import type { Store } from "../../lib/store/store.ts";
import { append, eventAt, insert, memoryStore, START_MS, subscriptionOf } from "../webhooks/parts.ts";
import { sampleAttempt } from "./webhook_samples.ts";

const DAY_MS = 86_400_000;
const DAYS = 1_000;

/** An event on each of 1 000 days, and so many attempts; the newest ledger closed on the last day. */
async function fixture(): Promise<Store> {
  const store = await memoryStore();
  const events = Array.from({ length: DAYS }, (_, n) =>
    eventAt(101 + n, 1, {
      type: n % 100 === 0 ? "escrow.swept" : "escrow.funded",
      ledgerClosedAt: `${new Date(START_MS + n * DAY_MS).toISOString().slice(0, 19)}Z`,
    }));
  await append(store, events, 1_100, START_MS + (DAYS - 1) * DAY_MS);
  await insert(store, subscriptionOf("wh_1"));
  for (let n = 0; n < 300; n++) {
    await store.deliveries.recordAttempt("wh_1", sampleAttempt(1, { atMs: START_MS + (DAYS - 300 + n) * DAY_MS }));
  }
  return store;
}

const now = () => START_MS + (DAYS - 1) * DAY_MS;

/** Runs the job once; without a number of days it deletes nothing. */
async function runJob(store: Store, options: Partial<Parameters<typeof createRetention>[0]> = {}, isAborted = false) {
  const signal = isAborted ? AbortSignal.abort() : new AbortController().signal;
  await createRetention({ store, holder: "me", now, historyDays: 0, attemptDays: 0, ...options })(signal);
}

const held = async (store: Store) => {
  const { last, forgotten } = await store.events.bounds();
  return last - forgotten;
};

test("the job deletes all old events and attempts", async () => {
  const store = await fixture();
  await runJob(store, { historyDays: 100, attemptDays: 50 });
  assert.equal(await held(store), 101);
  assert.equal((await store.deliveries.attempts("wh_1", { limit: 200 })).length, 51);
});

test("with 0 days the job deletes nothing", async () => {
  const store = await fixture();
  await runJob(store);
  assert.equal(await held(store), DAYS);
  assert.equal((await store.deliveries.attempts("wh_1", { limit: 200 })).length, 200);
});

test("a clock that is forty days ahead deletes no event that is new by the network's time", async () => {
  const store = await fixture();
  await runJob(store, { now: () => now() + 40 * DAY_MS, historyDays: 30 });
  assert.equal(await held(store), 31);
  await runJob(store, { now: () => now() - 40 * DAY_MS, historyDays: 30 });
  assert.equal(await held(store), 31);
});

test("references stay as long as the events of their transactions", async () => {
  const store = await memoryStore();
  const ledgerClosedAt = `${new Date(START_MS + 5 * DAY_MS).toISOString().slice(0, 19)}Z`;
  await append(store, [eventAt(101, 1, { ledgerClosedAt })], 1_100, START_MS + 20 * DAY_MS);
  const kept = async () => (await store.references.list({ limit: 9 })).map(({ reference }) => reference);
  for (const days of [3, 5, 7]) {
    const preparedAtMs = START_MS + days * DAY_MS - 60_000;
    await store.references.record({ hash: "cd".repeat(32), keyId: `k${days}`, reference: `day ${days}`, preparedAtMs });
  }
  const at = (days: number) => ({ now: () => START_MS + days * DAY_MS });
  await runJob(store, { ...at(20), historyDays: 0 });
  assert.deepEqual(await kept(), ["day 3", "day 5", "day 7"]);
  await runJob(store, { ...at(20), historyDays: 15 });
  assert.deepEqual([await held(store), await kept()], [1, ["day 5", "day 7"]]);
  await runJob(store, { ...at(20), historyDays: 13 });
  assert.deepEqual([await held(store), await kept()], [0, ["day 7"]]);
});

test("references of transactions that were never submitted go after a day, each looked at once", async () => {
  const store = await memoryStore();
  const [applied, sent, unused, lone] = ["aa", "bb", "cc", "dd"].map((two) => two.repeat(32)) as [
    string,
    string,
    string,
    string,
  ];
  const given = (hash: string, reference: string, atMs: number) =>
    store.references.record({ hash, keyId: "k", reference, preparedAtMs: atMs });
  for (let n = 0; n < 120; n++) await given(n.toString(16).padStart(64, "0"), `never ${n}`, START_MS + n);
  for (const [hash, name] of [[applied, "applied"], [sent, "sent"], [unused, "unused"]] as const) {
    await given(hash, name, START_MS + 1_000);
  }
  await given(lone, "a day later", START_MS + DAY_MS);
  const submitted = { hash: sent, keyId: "another", kind: "claim", source: "G", submittedAtMs: START_MS };
  await store.transactions.add({ ...submitted, status: "rejected" });
  await append(store, [eventAt(101, 1, { txHash: applied })], 1_100, START_MS + DAY_MS);
  const kept = async () => (await store.references.list({ limit: 500 })).map(({ reference }) => reference);
  const at = (ms: number) => runJob(store, { now: () => START_MS + ms });

  await at(DAY_MS);
  assert.equal((await kept()).length, 124);
  // The log may lack the events of these ledgers.
  const behind = (await store.events.watcherState())!;
  await append(store, [], 1_101, START_MS + 3 * DAY_MS);
  const lease = (await store.leases.acquire({ name: "watcher", holder: "test", durationMs: 60_000 }))!;
  await store.events.append({ lease, events: [], state: { ...behind, latestLedger: 1_200 } });
  await at(DAY_MS + 1_001);
  assert.equal((await kept()).length, 124);
  await append(store, [], 1_200, START_MS + 3 * DAY_MS);

  await at(DAY_MS + 1_001);
  assert.deepEqual(await kept(), ["applied", "sent", "a day later"]);
  const read: string[] = [];
  store.observe({
    called: (method) => void (/^(references.delete|transactions.find)$/.test(method) && read.push(method)),
  });
  await at(DAY_MS + 2_000);
  assert.deepEqual([await kept(), read], [["applied", "sent", "a day later"], []]);
  await at(2 * DAY_MS + 1);
  assert.deepEqual([await kept(), read.length], [["applied", "sent"], 2]);
});

test("submitted transactions stay as long as events", async () => {
  const store = await memoryStore();
  await append(store, [], 1_100, START_MS + 40 * DAY_MS);
  for (const day of [1, 12]) {
    const submittedAtMs = START_MS + day * DAY_MS;
    const sent = { hash: `${day}`, keyId: "k", kind: "claim", source: "G", submittedAtMs };
    await store.submissions.record({ hash: sent.hash, validUntil: 1, submittedAtMs }, sent);
  }
  const kept = async () => (await store.transactions.all({ limit: 9 })).map(({ hash }) => hash);
  const job = (historyDays: number) => runJob(store, { now: () => START_MS + 40 * DAY_MS, historyDays });
  await job(0);
  assert.deepEqual([await kept(), await store.submissions.get("1")], [["1", "12"], undefined]);
  await job(30);
  assert.deepEqual(await kept(), ["12"]);
});

test("the job deletes nothing before the first ledger", async () => {
  const store = await memoryStore();
  await store.submissions.record({ hash: "ab".repeat(32), validUntil: 1, submittedAtMs: 1 });
  await runJob(store, { historyDays: 1, attemptDays: 1 });
  assert.notEqual(await store.submissions.get("ab".repeat(32)), undefined);
});

test("deleted undelivered events count as dead for the subscriptions that they match", async () => {
  const store = await memoryStore();
  await insert(store, subscriptionOf("wh_all"), subscriptionOf("wh_swept", { types: ["escrow.swept"] }));
  const type = (n: number) => n % 100 === 0 ? "escrow.swept" : "escrow.funded";
  const events = Array.from({ length: 500 }, (_, n) => eventAt(101 + n, 1, { type: type(n) }));
  await append(store, events, 700, START_MS + 10 * DAY_MS);
  await runJob(store, { now: () => START_MS + 10 * DAY_MS, historyDays: 5 });
  assert.equal(await held(store), 0);
  const progressOf = async (id: string) => (await store.deliveries.consumer(id))!.progress;
  assert.deepEqual([(await progressOf("wh_all")).dead, (await progressOf("wh_swept")).dead], [500, 5]);
  assert.equal((await progressOf("wh_all")).cursor, 500);
});

test("one round deletes all old submissions and all rows of deleted subscriptions", async () => {
  const store = await fixture();
  for (let n = 0; n < 1_300; n++) {
    const hash = n.toString(16).padStart(64, "0");
    await store.submissions.record({ hash, validUntil: 1, submittedAtMs: START_MS });
  }
  await store.subscriptions.delete("wh_1");
  await runJob(store);
  assert.equal(await store.subscriptions.purgeDeleted(), false);
  assert.equal(await store.submissions.prune(now()), 0);
});

test("the job deletes an intent seven days later by both clocks, the network's and its own", async () => {
  const store = await memoryStore();
  await append(store, [eventAt(101, 1)], 1_100, START_MS);
  const name = { keyId: "k", kind: "webhook", key: "order-1" } as const;
  const intent = { request: "", state: 1 };
  await store.intents.set({ name, seen: undefined, version: "v", intent, mostOfKey: 1, mostInAll: 1 });
  // The store uses this machine's clock; the network's time follows it.
  const madeMs = Date.now();
  const closedAt = async (ms: number) => await append(store, [eventAt(102, 1)], 1_200, ms);
  const round = (nowMs: number) => runJob(store, { now: () => nowMs });
  await round(madeMs + 40 * DAY_MS);
  await closedAt(madeMs + 7 * DAY_MS - 60_000);
  await round(madeMs + 40 * DAY_MS);
  assert.notEqual(await store.intents.get(name), undefined);
  await closedAt(madeMs + 7 * DAY_MS + 60_000);
  await round(madeMs + 7 * DAY_MS - 60_000);
  assert.notEqual(await store.intents.get(name), undefined);
  await round(madeMs + 7 * DAY_MS + 60_000);
  assert.equal(await store.intents.get(name), undefined);
});

test("a clock that is forty days ahead for a while makes the job delete no shared value", async () => {
  let aheadMs = 0;
  const clock = () => now() + aheadMs;
  const store = await openStore("memory:", { now: clock });
  await append(store, [eventAt(101)], 1_100, now());
  await store.sharedState.change("lost", () => ({ value: 7, keepMs: DAY_MS, answer: undefined }));
  aheadMs = 40 * DAY_MS;
  await runJob(store, { now: clock });
  aheadMs = 0;
  assert.equal(await store.sharedState.read("lost"), 7);
  await store.close();
});

test("an aborted round stops", async () => {
  const store = await fixture();
  await runJob(store, { historyDays: 1, attemptDays: 1 }, true);
  assert.equal(await held(store), DAYS);
});

test("one gateway of a shared store runs the job each hour, and another one continues an interrupted run", async () => {
  let nowMs = now();
  const store = await openStore("memory:", { now: () => nowMs, isShared: true });
  await append(store, [eventAt(101)], 1_100, START_MS + (DAYS - 1) * DAY_MS);
  const forgetAs = (holder: string, isAborted = false) =>
    runJob(store, { holder, historyDays: 1, attemptDays: 1 }, isAborted);
  await forgetAs("a", true);
  assert.equal(await held(store), 1);
  await forgetAs("b");
  assert.equal(await held(store), 0);
  await append(store, [eventAt(102)], 1_101, START_MS + (DAYS - 1) * DAY_MS);
  await forgetAs("a");
  assert.equal(await held(store), 1, "b has done it");
  nowMs += 3_600_000;
  await forgetAs("a");
  assert.equal(await held(store), 0);
  await store.close();
});

test("the job deletes expired shared values", async () => {
  let nowMs = now();
  const store = await openStore("memory:", { now: () => nowMs, isShared: true });
  for (let n = 0; n < 3; n++) {
    await store.sharedState.change(`r${n}`, () => ({ value: n, keepMs: n * 1_000, answer: undefined }));
  }
  nowMs += 1_000;
  await append(store, [eventAt(101)], 1_100, nowMs);
  await runJob(store, { now: () => nowMs });
  assert.equal(await store.sharedState.prune(nowMs), 0);
  assert.equal(await store.sharedState.read("r2"), 2);
  await store.close();
});

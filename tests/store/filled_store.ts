import type { Store } from "../../lib/store/store.ts";
import type { IntentName } from "../../lib/store/intent.ts";
import { samplePayment } from "./contract_payments.ts";
import { sampleTransaction } from "./contract_transactions.ts";
import {
  append,
  CONTRACT,
  sampleEvent,
  sampleEventOf,
  sampleId,
  sampleKey,
  sampleState,
  sampleUndecoded,
  watcherLease,
} from "./samples.ts";
import {
  failedAttempt,
  sampleAttempt,
  sampleFailed,
  sampleReplay,
  sampleSubscription,
  settle,
  START_MS,
} from "./webhook_samples.ts";

export const PASSPHRASE = "a network of tests";
const hashOf = (n: number) => n.toString(16).padStart(64, "0");
const ACCOUNT = "GBZXN7PIRZGNMHGA7MUUUF4GWPY5AYPV6LY4UV2GL6VJGIQRXFDNMADI";

/** Fills a new store with some of everything that one can hold: more than one page of most kinds. */
export async function fillStore(store: Store): Promise<void> {
  await store.network.bind(PASSPHRASE);
  await fillKeys(store);
  await fillIntents(store);
  await fillLog(store);
  await fillWebhooks(store);
  await fillPayments(store);
  const value = { epoch: 1, höhe: [1, null, 2.5] };
  await store.sharedState.change("ledger", () => ({ value, keepMs: 1e12, answer: 0 }));
  await store.subscriptions.setSecrets({ secrets: [], check: "sealed:check" });
}

async function fillKeys(store: Store): Promise<void> {
  const times = { expiresAt: "2027-01-01T00:00:00.000Z", lastUsedAt: "2026-11-02T00:00:00.000Z" };
  const all = { rate: 7, disabled: true, ...times };
  for (let n = 1; n < 9; n++) await store.keys.insert(sampleKey(`k${n}`));
  await store.keys.insert(sampleKey("k0", { ...all, scopes: ["read", "write", "webhooks"], name: "é 🙂 '\"" }));
  const bucket = (n: number) => ({ keyId: `k${n}`, tokens: n + 0.1, updatedAtMs: START_MS + n });
  const buckets = Array.from({ length: 230 }, (_, n) => bucket(n));
  await store.buckets.save(buckets);
}

async function fillIntents(store: Store): Promise<void> {
  const numbers = Array.from({ length: 230 }, (_, n) => n);
  const noted = (n: number) => n % 3 === 0 ? {} : { source: ACCOUNT, operation: hashOf(n % 5) };
  const sent = (n: number) => ({ hash: hashOf(n), validUntil: n, submittedAtMs: START_MS + n, ...noted(n) });
  await Promise.all(numbers.map((n) => store.submissions.record(sent(n))));
  const outcome = (n: number) =>
    n % 4 === 1 ? { status: "success" as const, ledger: n } : { status: "failed" as const, error: { code: "x" } };
  await Promise.all(
    numbers.filter((n) => n % 2 === 1).map((n) => store.submissions.recordOutcome(hashOf(n), outcome(n))),
  );
  for (let n = 0; n < 620; n++) {
    const [hash, keyId, preparedAtMs] = [hashOf(n >> 1), `k${n % 2}`, START_MS + n];
    await store.references.record({ hash, keyId, reference: `order "${n}"`, preparedAtMs });
  }
  await Promise.all(
    Array.from({ length: 560 }, (_, n) => store.transactions.add(sampleTransaction(n, { keyId: `k${n % 3}` }))),
  );
  for (let n = 0; n < 24; n++) {
    const kind = (["webhook", "replay", "transaction"] as const)[n % 3]!;
    const name: IntentName = { keyId: `k${n % 2}`, kind, key: `order-${n % 12}` };
    const intent = {
      request: hashOf(n),
      state: { text: "é".repeat(n === 1 ? 29_000 : n), outcome: n % 5 === 0 ? null : { hash: hashOf(0), ledger: n } },
      ...(kind === "transaction" ? { envelope: new Uint8Array(n === 2 ? 140_000 : n).fill(n) } : {}),
    };
    await store.intents.set({ name, seen: undefined, version: `v${n}`, intent, mostOfKey: 99, mostInAll: 99 });
  }
  for (let n = 0; n < 12; n++) {
    await store.sharedState.change(`nonce ${n}`, () => ({ value: n, keepMs: 60_000, answer: undefined }));
  }
}

/** Events of two epochs, some late, of which the oldest are forgotten. */
async function fillLog(store: Store): Promise<void> {
  const most = String(2n ** 127n - 1n);
  const fields = { deviceHash: hashOf(7), agent: ACCOUNT, merchant: "no address", amount: most };
  const events = Array.from({ length: 450 }, (_, n) => {
    if (n % 10 === 9) return sampleEvent(n - 15, { id: sampleId(n - 15).replace(/1$/, "2") });
    return n < 400
      ? sampleEvent(n, n % 2 === 0 ? fields : {})
      : sampleEventOf(1, n, { asset: ACCOUNT, payment: { slot: n } });
  });
  const lease = await watcherLease(store);
  for (let at = 0; at < events.length; at += 90) {
    const state = sampleState(1_000 + at, { rpcCursor: "c", decoder: { name: "d", triedUpTo: null } });
    await store.events.append({ lease, events: events.slice(at, at + 90), state });
  }
  const large = { topics: ["A".repeat(120_000)], value: "B" };
  await append(store, sampleUndecoded(1_003), sampleUndecoded(1_008, { raw: large }));
  await store.events.forget({ upTo: 105, undelivered: [] });
}

async function fillPayments(store: Store): Promise<void> {
  const lease = await watcherLease(store);
  const rows = Array.from({ length: 140 }, (_, n) => samplePayment(n));
  const cursor = { epoch: 1, contractId: CONTRACT, sequence: 450, latestLedger: 1_445, settledLedger: 1_400, gaps: [] };
  await store.payments.commit({ lease, rows, cursor });
}

async function fillWebhooks(store: Store): Promise<void> {
  const former = { previousSecret: { secret: "old", untilMs: 5 }, olderSecret: { secret: "older", untilMs: 4 } };
  const filters = { types: ["escrow.funded", "escrow.claimed"], deviceHash: hashOf(7), merchant: "M", ordered: true };
  const full = { ...former, ...filters, keyId: "k1", startHeight: 9 };
  await store.subscriptions.insert(sampleSubscription("wh_all", full), 9);
  for (const id of ["wh_1", "wh_2", "wh_gone"]) await store.subscriptions.insert(sampleSubscription(id), 9);
  for (let n = 0; n < 1_150; n += 50) {
    const made = (at: number) => at % 7 ? sampleAttempt(n + at) : failedAttempt(n + at, "rejected");
    const attempts = Array.from({ length: 50 }, (_, at) => made(at));
    await settle(store, { subscriptionId: "wh_1", attempts });
  }
  const of = (from: number, count: number, state: "retrying" | "rejected" | "dead") =>
    Array.from({ length: count }, (_, n) => sampleFailed(from + n, state));
  for (const subscriptionId of ["wh_1", "wh_2", "wh_gone"]) {
    await settle(store, { subscriptionId, failed: of(200, 110, "retrying"), failingSinceMs: START_MS });
    const ended = [...of(310, 50, "rejected"), ...of(360, 40, "dead")];
    await settle(store, { subscriptionId, failed: ended, attempts: [sampleAttempt(1)] });
    await settle(store, { subscriptionId, cursor: 410, delivered: [200, 311] });
  }
  // Of an event that is forgotten: passed over.
  await settle(store, { subscriptionId: "wh_2", failed: of(50, 1, "dead") });
  await store.deliveries.insertReplay(sampleReplay("rp_1", "wh_2", { endSequence: null, atLeast: true, cursor: 120 }));
  await store.subscriptions.delete("wh_gone");
}

import type { Store } from "../../lib/store/store.ts";
import { append, sampleEvent } from "./samples.ts";
import { dueOf, endedOf, sampleSubscription, settle, START_MS } from "./webhook_samples.ts";

/** The reads of a store's callers. */
export async function answers(store: Store): Promise<Record<string, unknown>> {
  const { events, deliveries, submissions, intents } = store;
  const filter = { types: ["escrow.funded"], deviceHash: "7".padStart(64, "0") };
  const ids = ["wh_1", "wh_2", "wh_all", "wh_gone"];
  const of = async (ask: (id: string) => Promise<unknown>) => await Promise.all(ids.map(ask));
  return {
    id: store.id,
    network: await store.network.bound(),
    check: await store.subscriptions.secretsCheck(),
    keys: await store.keys.list({ limit: 1_000 }),
    bounds: await events.bounds(),
    watcher: await events.watcherState(),
    log: await events.read({ filter: {}, order: "desc", limit: 1_000 }),
    filtered: await events.read({ filter, order: "asc", limit: 1_000, after: 130 }),
    fromHeight: await events.count({ filter: { fromHeight: 1_200, toHeight: 1_300 }, limit: 10_000 }),
    before: await Promise.all([1_100, 1_250, 1_399, 2 ** 32 + 1_405].map((height) => events.before(height))),
    undecoded: await events.undecoded({ limit: 100 }),
    consumers: await deliveries.consumers({ limit: 99 }),
    due: await of((id) => dueOf(store, id)),
    retrying: await of((id) => deliveries.failed({ state: "retrying", subscriptionId: id, limit: 200 })),
    ended: await of((id) => endedOf({ deliveries }, { subscriptionId: id, limit: 200 })),
    attempts: await of((id) => deliveries.attempts(id, { limit: 200 })),
    submission: await submissions.get("5".padStart(64, "0")),
    withoutOutcome: await submissions.withoutOutcome({ limit: 500 }),
    references: await store.references.list({ limit: 500 }),
    found: (await store.references.find(["5".padStart(64, "0")])).toSorted((a, b) => a.keyId < b.keyId ? -1 : 1),
    transactions: await store.transactions.list({ keyId: "k1", filter: {}, order: "desc", limit: 1_000 }),
    ofKind: await store.transactions.list({ keyId: "k1", filter: { kind: "claim" }, order: "asc", limit: 1_000 }),
    intent: await intents.get({ keyId: "k1", kind: "transaction", key: "order-1" }),
    payments: await store.payments.list({ filter: { state: "claimed" }, order: "desc", limit: 1_000 }),
    paymentsCursor: await store.payments.cursor(),
    register: await store.sharedState.read("ledger"),
  };
}

/** The versions and bounds of a store. */
export async function goOn(store: Store) {
  const [appended] = await append(store, sampleEvent(2_000), sampleEvent(24), sampleEvent(3));
  await settle(store, { subscriptionId: "wh_1", delivered: [201], attempts: [] });
  const refused = await store.subscriptions.insert(sampleSubscription("wh_3"), 2).catch((error) => error.kind);
  const written = await store.intents.set({
    ...{ name: { keyId: "k0", kind: "webhook", key: "new" }, seen: undefined, version: "v" },
    ...{ intent: { request: "r", state: "wh_1" }, mostOfKey: 4, mostInAll: 99 },
  });
  const changed = await store.sharedState.change("nonce 3", (value: number = 0) => {
    return { value: value + 1, keepMs: 60_000, answer: value };
  });
  const pruned = await store.deliveries.pruneAttempts("wh_1", START_MS + 900);
  const forgotten = await store.events.forget({ upTo: 250, undelivered: [] });
  const { progress } = (await store.deliveries.consumer("wh_1"))!;
  while (await store.subscriptions.purgeDeleted());
  return { appended, refused, written, changed, pruned, forgotten, progress };
}

import type { ListedIntent } from "../intent.ts";
import type { GivenReference } from "../reference.ts";
import type { StoredValue } from "../shared_state.ts";
import type { LoggedEvent, UndecodedEvent } from "../event.ts";
import type { PaymentsCursor, StoredPayment } from "../payment.ts";
import type { BucketState, KeyRecord, Lease, Store, WatcherState } from "../store.ts";
import type { Submission } from "../submission.ts";
import type { SubmittedTransaction } from "../transaction.ts";
import {
  type Attempt,
  FAILED_STATES,
  type FailedDelivery,
  MAX_SETTLED_WRITES,
  partitionLease,
  partitionOf,
  type Progress,
  type Settlement,
  type StoredConsumer,
  type Subscription,
  WRITES,
} from "../webhook.ts";
import { COPY_REGISTER } from "./mark.ts";

/** The target store. */
export interface Target {
  store: Store;
  /** The leases of the watcher and of all partitions, by name. */
  leases: Map<string, Lease>;
  watcher: Lease;
  /** The state of the source. Undefined: the source has none, and no events. */
  state: WatcherState | undefined;
}

type Pages<T> = AsyncGenerator<T[], void, undefined>;

/** One kind of record. */
export interface Kind<T> {
  /** Pages that are not empty. Memory holds one at a time. */
  pages(store: Store): Pages<T>;
  write(target: Target, records: T[]): Promise<unknown>;
  /** The part of a record that both stores must have alike. Default: all of it. */
  compared?(record: T): unknown;
}

/** The number of records in a page. */
const PAGE = 500;
const DELIVERIES_PAGE = 200;
/** The bound of an append. */
const STEP = 100;
const NO_BOUND = Number.MAX_SAFE_INTEGER;

/** A record of a subscription, with the subscription's id. */
type Of<T> = T & { subscriptionId: string };

interface Records {
  log: { forgotten: number };
  keys: KeyRecord;
  buckets: BucketState;
  submissions: Submission;
  references: GivenReference;
  transactions: SubmittedTransaction;
  intents: ListedIntent;
  sharedState: StoredValue;
  subscriptions: Subscription;
  events: LoggedEvent;
  undecoded: UndecodedEvent;
  failedDeliveries: Of<FailedDelivery>;
  attempts: Of<Attempt>;
  progress: StoredConsumer;
  payments: StoredPayment;
  store: { network?: string; secretsCheck?: string; watcher?: WatcherState; payments?: PaymentsCursor };
}
export type CopyKind = keyof Records;

/**
 * How the copy reads and writes each kind, in the order of the writes. The log gets its beginning before its first event. A
 * subscription comes before its events, with its cursor at the beginning.
 */
export const KINDS: { [Name in CopyKind]: Kind<Records[Name]> } = {
  log: {
    async *pages({ events }) {
      const { forgotten } = await events.bounds();
      if (forgotten > 0) yield [{ forgotten }];
    },
    write: (target, [start]) => append(target, [], start!.forgotten),
  },
  keys: {
    pages: ({ keys }) => paged(({ id }) => id, (after) => keys.list({ after, limit: PAGE })),
    write: ({ store }, keys) => each(keys, (key) => store.keys.insert(key)),
  },
  buckets: {
    async *pages({ buckets }) {
      yield* chunks(await buckets.load(), PAGE);
    },
    write: ({ store }, buckets) => store.buckets.save(buckets),
  },
  submissions: {
    pages: ({ submissions }) => paged(({ hash }) => hash, (after) => submissions.list({ after, limit: PAGE })),
    write: ({ store: { submissions } }, noted) =>
      together(noted, async ({ outcome, ...submission }) => {
        await submissions.record(submission);
        if (outcome !== undefined) await submissions.recordOutcome(submission.hash, outcome);
      }),
  },
  // Before the references, because a new record takes the reference of its key, and the source's may be older.
  transactions: {
    pages: ({ transactions }) => paged((sent) => sent, (after) => transactions.all({ after, limit: PAGE })),
    write: ({ store }, sent) => together(sent, store.transactions.add),
  },
  references: {
    pages: ({ references }) => paged((given) => given, (after) => references.list({ after, limit: PAGE })),
    write: ({ store }, given) => together(given, store.references.record),
  },
  intents: {
    pages: ({ intents }) => paged((intent: ListedIntent) => intent, (after) => intents.list({ after, limit: STEP })),
    write: ({ store: { intents } }, listed) =>
      together(listed, ({ keyId, kind, key, version, usedAtMs, ...intent }) => {
        const bounds = { seen: undefined, mostOfKey: NO_BOUND, mostInAll: NO_BOUND };
        return intents.set({ name: { keyId, kind, key }, version, intent, atMs: usedAtMs, ...bounds });
      }),
    compared: ({ usedAtMs: _, ...intent }) => intent,
  },
  sharedState: {
    async *pages({ sharedState }) {
      const all = paged(({ name }: StoredValue) => name, (after) => sharedState.list({ after, limit: PAGE }));
      for await (const page of all) {
        const copied = page.filter(({ name }) => name !== COPY_REGISTER);
        if (copied.length > 0) yield copied;
      }
    },
    write: ({ store: { sharedState } }, kept) =>
      together(
        kept,
        ({ name, value, untilMs }) =>
          sharedState.change(name, (_, nowMs) => ({ value, keepMs: untilMs - nowMs, answer: undefined })),
      ),
  },
  subscriptions: {
    pages: ({ subscriptions }) => paged(({ id }) => id, (after) => subscriptions.list({ after, limit: PAGE })),
    write: ({ store }, subscriptions) => each(subscriptions, (one) => store.subscriptions.insert(one, NO_BOUND)),
  },
  events: {
    pages: ({ events }) =>
      paged(({ sequence }) => sequence, (after) => {
        return events.read({ filter: {}, withOwn: true, after, order: "asc", limit: PAGE });
      }),
    write: (target, events) => append(target, events.map(({ sequence: _, ...event }) => event)),
  },
  undecoded: {
    pages: ({ events }) => paged(({ id }) => id, (after) => events.undecoded({ after, limit: STEP })),
    write: append,
  },
  failedDeliveries: {
    pages: ofEach(async function* ({ deliveries }, subscriptionId) {
      const query = { subscriptionId, limit: DELIVERIES_PAGE };
      const last = ({ delivery }: { delivery: FailedDelivery }) => delivery.sequence;
      for (const state of FAILED_STATES) yield* paged(last, (beyond) => deliveries.failed({ ...query, state, beyond }));
    }, ({ delivery }) => delivery),
    write: (target, failed) => settle(target, failed, (failed) => ({ failed, attempts: [] }), WRITES.failed),
  },
  attempts: {
    // Reads return the newest first. The copy writes the oldest first, and numbers them from 1.
    pages: ofEach(async function* ({ deliveries }, subscriptionId) {
      const oldestOf = ({ ordinal }: Attempt) => ordinal;
      const read = (before?: number) => deliveries.attempts(subscriptionId, { before, limit: DELIVERIES_PAGE });
      const kept = await Array.fromAsync(paged(oldestOf, read));
      yield* chunks(kept.flat().toReversed(), PAGE);
    }, (attempt) => attempt),
    write: (target, attempts) =>
      settle(target, attempts, (some) => ({ attempts: some.map(({ ordinal: _, ...one }) => one) }), WRITES.attempt),
    compared: ({ ordinal: _, ...attempt }) => attempt,
  },
  progress: {
    async *pages(store) {
      const { forgotten } = await store.events.bounds();
      for await (const page of consumers(store)) {
        // A cursor before the deleted events would wait for none of them.
        const from = ({ cursor }: Progress) => Math.max(cursor, forgotten);
        yield page.map((consumer) => ({
          ...consumer,
          progress: { ...consumer.progress, cursor: from(consumer.progress) },
        }));
      }
    },
    write: (target, consumers) =>
      each(consumers, async ({ subscription, progress: { cursor, failingSinceMs }, replay }) => {
        const settlement = { subscriptionId: subscription.id, cursor, failingSinceMs, attempts: [] };
        await target.store.deliveries.settle({ leases: [leaseOf(target, subscription.id)], settlements: [settlement] });
        if (replay !== null) await target.store.deliveries.insertReplay(replay);
      }),
    // The copy counts only failed deliveries that have a row.
    compared: ({ subscription: { id }, progress: { cursor, failingSinceMs, retrying, nextDueAtMs }, replay }) => ({
      ...{ id, cursor, failingSinceMs, retrying, nextDueAtMs, replay },
    }),
  },
  payments: {
    pages: ({ payments }) => {
      const page = { filter: {}, order: "asc", limit: PAGE } as const;
      return paged((last: StoredPayment) => last, (after) => payments.list({ ...page, after }));
    },
    async write({ store, watcher: lease }, payments) {
      for await (const rows of chunks(payments, STEP)) await store.payments.commit({ lease, rows });
    },
  },
  store: {
    async *pages({ network, subscriptions, events, payments }) {
      const head = {
        network: await network.bound(),
        secretsCheck: await subscriptions.secretsCheck(),
        watcher: await events.watcherState(),
        payments: await payments.cursor(),
      };
      if (Object.values(head).some((value) => value !== undefined)) yield [head];
    },
    async write(target, [head]) {
      const { network, subscriptions } = target.store;
      if (head!.network !== undefined) await network.bind(head!.network);
      if (head!.secretsCheck !== undefined) {
        await subscriptions.setSecrets({ secrets: [], check: head!.secretsCheck });
      }
      if (head!.watcher !== undefined) await append(target, []);
      if (head!.payments !== undefined) {
        await target.store.payments.commit({ lease: target.watcher, rows: [], cursor: head!.payments });
      }
    },
  },
};

/** Reads pages until one is empty. */
async function* paged<T, Key>(keyOf: (record: T) => Key, read: (after?: Key) => Promise<T[]>): Pages<T> {
  let after: Key | undefined;
  while (true) {
    const page = await read(after);
    if (page.length === 0) return;
    yield page;
    after = keyOf(page.at(-1)!);
  }
}

function consumers({ deliveries }: Store): Pages<StoredConsumer> {
  return paged(({ subscription }) => subscription.id, (after) => deliveries.consumers({ after, limit: PAGE }));
}

/** The records of every subscription, one subscription after the other. */
function ofEach<Read, T extends object>(
  read: (store: Store, subscriptionId: string) => Pages<Read>,
  recordOf: (read: Read) => T,
): (store: Store) => Pages<Of<T>> {
  return async function* pages(store) {
    for await (const page of consumers(store)) {
      for (const { subscription: { id } } of page) {
        for await (const some of read(store, id)) yield some.map((one) => ({ ...recordOf(one), subscriptionId: id }));
      }
    }
  };
}

async function* chunks<T>(records: T[], size: number): Pages<T> {
  for (let at = 0; at < records.length; at += size) yield records.slice(at, at + size);
}

async function each<T>(records: T[], write: (record: T) => Promise<unknown>): Promise<void> {
  for (const record of records) await write(record);
}

/** Writes records at the same time, because writes of one turn may share a commit. */
async function together<T>(records: T[], write: (record: T) => Promise<unknown>): Promise<void> {
  for await (const some of chunks(records, STEP)) await Promise.all(some.map(write));
}

async function append(
  { store, watcher: lease, state }: Target,
  events: Parameters<Store["events"]["append"]>[0]["events"],
  after?: number,
): Promise<void> {
  for (let at = 0; at === 0 || at < events.length; at += STEP) {
    await store.events.append({ lease, events: events.slice(at, at + STEP), state: state!, after });
  }
}

/** All records of a page belong to one subscription. */
async function settle<T>(
  target: Target,
  records: Of<T>[],
  part: (records: T[]) => Omit<Settlement, "subscriptionId">,
  writesEach: number,
): Promise<void> {
  const subscriptionId = records[0]!.subscriptionId;
  const own = records.map(({ subscriptionId: _, ...record }) => record as T);
  for await (const some of chunks(own, Math.floor((MAX_SETTLED_WRITES - WRITES.cursor) / writesEach))) {
    const settlements = [{ subscriptionId, ...part(some) }];
    await target.store.deliveries.settle({ leases: [leaseOf(target, subscriptionId)], settlements });
  }
}

function leaseOf({ leases }: Target, subscriptionId: string): Lease {
  return leases.get(partitionLease(partitionOf(subscriptionId)))!;
}

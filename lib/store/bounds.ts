import { MAX_COUNTED } from "./event.ts";
import { MAX_ENVELOPE_BYTES, MAX_STATE_BYTES, type NewIntent } from "./intent.ts";
import { MAX_PAYMENT_ROWS } from "./payment.ts";
import type { ReferenceRows } from "./reference.ts";
import type { DeliveryStore, NextQuery, Store } from "./store.ts";
import { MAX_SETTLED_WRITES, partitionLease, partitionOf, settledWrites } from "./webhook.ts";

/** The nouns of a store. Each driver has its own. */
export type Nouns =
  & { references: ReferenceRows }
  & Pick<
    Store,
    | "network"
    | "keys"
    | "buckets"
    | "submissions"
    | "intents"
    | "leases"
    | "sharedState"
    | "events"
    | "subscriptions"
    | "deliveries"
    | "payments"
    | "transactions"
  >;

/** One check for each method. It throws a RangeError when the call exceeds a bound of the interface. */
type Bounds = {
  [Noun in keyof Nouns]: {
    // deno-lint-ignore no-explicit-any -- what a method takes is inferred from it
    [Method in keyof Nouns[Noun]]: Nouns[Noun][Method] extends (...args: infer Args extends any[]) => unknown
      ? (...args: Args) => void
      : never;
  };
};

/** The bounds of every method. This is also the list of all methods. */
export const BOUNDS: Bounds = {
  network: { bind: unbounded, bound: unbounded, adopt: unbounded },
  keys: {
    insert: unbounded,
    get: unbounded,
    list: ({ limit }) => checkLimit(limit, 1_000),
    setDisabled: unbounded,
    delete: unbounded,
    touch: (uses) => checkBatch(uses, 500),
    version: unbounded,
  },
  buckets: { load: unbounded, save: (buckets) => checkBatch(buckets, 500), prune: unbounded },
  submissions: {
    record: unbounded,
    recordOutcome: unbounded,
    get: unbounded,
    withoutOutcome: ({ limit }) => checkLimit(limit, 500),
    list: ({ limit }) => checkLimit(limit, 500),
    prune: unbounded,
  },
  references: {
    record: unbounded,
    copy: unbounded,
    isAny: unbounded,
    find: (hashes) => checkBatch(hashes, 1_000),
    ofReference: ({ limit }) => checkLimit(limit, 1_000),
    keysOf: ({ limit }) => checkLimit(limit, 1_000),
    list: ({ limit }) => checkLimit(limit, 500),
    delete: (records) => checkBatch(records, 500),
    prune: unbounded,
  },
  intents: {
    get: ({ key }) => checkIntentKey(key),
    set: checkIntent,
    list: ({ limit }) => checkLimit(limit, 500),
    prune: unbounded,
  },
  leases: {
    acquire: unbounded,
    renew: (leases) => checkBatch(leases, 10),
    release: (leases) => checkBatch(leases, 10),
  },
  sharedState: { read: checkName, change: checkName, list: ({ limit }) => checkLimit(limit, 500), prune: unbounded },
  events: {
    watcherState: unbounded,
    append: ({ events }) => checkBatch(events, 100),
    bounds: unbounded,
    read: ({ limit }) => checkLimit(limit, 1_000),
    count: ({ limit }) => checkLimit(limit, MAX_COUNTED),
    get: unbounded,
    before: unbounded,
    undecoded: ({ limit }) => checkLimit(limit, 100),
    // The driver checks `upTo`, because it depends on the log.
    forget: ({ undelivered }) => checkBatch(undelivered, 100),
    forgetUndecoded: unbounded,
  },
  subscriptions: {
    insert: (_subscription, _maxPerKey, intent) => intent && checkIntent(intent),
    get: unbounded,
    list: ({ limit }) => checkLimit(limit, 1_000),
    delete: unbounded,
    purgeDeleted: unbounded,
    version: unbounded,
    secretsCheck: unbounded,
    setSecrets: ({ secrets }) => checkBatch(secrets, 100),
  },
  deliveries: {
    consumers: ({ limit }) => checkLimit(limit, 500),
    consumer: unbounded,
    next: checkNext,
    failed: ({ limit }) => checkLimit(limit, 200),
    settle: checkSettlements,
    insertReplay: (_, intent) => intent && checkIntent(intent),
    recordAttempt: unbounded,
    attempts: (_, { limit }) => checkLimit(limit, 200),
    pruneAttempts: unbounded,
  },
  payments: {
    commit: ({ rows }) => checkBatch(rows, MAX_PAYMENT_ROWS),
    cursor: unbounded,
    get: unbounded,
    list: ({ limit }) => checkLimit(limit, 1_000),
    due: ({ limit }) => checkLimit(limit, 1_000),
    owing: ({ limit }) => checkLimit(limit, 1_000),
    forget: unbounded,
  },
  transactions: {
    add: unbounded,
    find: (hashes) => checkBatch(hashes, 1_000),
    list: ({ limit }) => checkLimit(limit, 1_000),
    all: ({ limit }) => checkLimit(limit, 1_000),
    prune: unbounded,
  },
};

function unbounded(): void {}

/** @throws RangeError unless the name of a shared value has 1 to 200 characters */
function checkName(name: string): void {
  if (name.length < 1 || name.length > 200) {
    throw new RangeError(`name must have 1 to 200 characters; got ${name.length}`);
  }
}

/** @throws RangeError unless `limit` is an integer from 1 to `max` */
function checkLimit(limit: number, max: number): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > max) {
    throw new RangeError(`limit must be an integer from 1 to ${max}; got ${limit}`);
  }
}

function checkNext(_: unknown, { limit, inFlight }: NextQuery): void {
  checkLimit(limit, 200);
  if (limit < 2) throw new RangeError(`limit must be at least 2; got ${limit}`);
  checkBatch(inFlight, 5_000);
}

/** @throws RangeError when there are more than `max` items */
function checkBatch(items: readonly unknown[], max: number): void {
  if (items.length > max) throw new RangeError(`a call must have at most ${max} items; got ${items.length}`);
}

/** @throws RangeError unless the key is a valid `Idempotency-Key` */
function checkIntentKey(key: string): void {
  if (!/^[!-~]{1,255}$/.test(key)) throw new RangeError("key must be 1 to 255 visible characters");
}

/** @throws RangeError when an intent is too large */
function checkIntent({ name: { key }, intent: { state, envelope } }: NewIntent): void {
  checkIntentKey(key);
  const bytes = new TextEncoder().encode(JSON.stringify(state)).length;
  if (bytes > MAX_STATE_BYTES) throw new RangeError(`state must have at most ${MAX_STATE_BYTES} bytes; got ${bytes}`);
  const length = envelope?.length ?? 0;
  if (length > MAX_ENVELOPE_BYTES) {
    throw new RangeError(`envelope must have at most ${MAX_ENVELOPE_BYTES} bytes; got ${length}`);
  }
}

/** @throws RangeError when a step is too large, a lease is missing, or a due time does not match its state */
function checkSettlements({ leases, settlements }: Parameters<DeliveryStore["settle"]>[0]): void {
  const writes = settlements.reduce((sum, settlement) => sum + settledWrites(settlement), 0);
  if (writes > MAX_SETTLED_WRITES) {
    throw new RangeError(`settlements must have at most ${MAX_SETTLED_WRITES} writes; got ${writes}`);
  }
  for (const { subscriptionId } of settlements) {
    const name = partitionLease(partitionOf(subscriptionId));
    if (!leases.some((lease) => lease.name === name)) {
      throw new RangeError(`the settlement of ${subscriptionId} needs the lease ${name}`);
    }
  }
  for (const { state, dueAtMs } of settlements.flatMap(({ failed = [] }) => failed)) {
    if ((state === "retrying") !== (dueAtMs !== null)) {
      throw new RangeError(`dueAtMs must be a time when the state is retrying, and null otherwise; got ${dueAtMs}`);
    }
  }
}

/**
 * Checks how far one call of `events.forget` goes.
 * @throws RangeError when `upTo` lies after the end of the log, or more than 200 above the last deleted event
 */
export function checkForget(upTo: number, { last, forgotten }: { last: number; forgotten: number }): void {
  const furthest = Math.min(last, forgotten + 200);
  if (!Number.isInteger(upTo) || upTo > furthest) {
    throw new RangeError(`upTo must be a sequence of at most ${furthest}; got ${upTo}`);
  }
}

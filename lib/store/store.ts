import type { EventFilter, LoggedEvent, NewEvent, UndecodedEvent } from "./event.ts";
import type { IntentStore, IntentVerdict, NewIntent } from "./intent.ts";
import type { Lease, LeaseStore } from "./lease.ts";
import type { PaymentStore } from "./payment.ts";
import type { ReferenceStore } from "./reference.ts";
import type { SharedStateStore } from "./shared_state.ts";
import type { StoreErrorKind } from "./store_error.ts";
import type { SubmissionStore } from "./submission.ts";
import type { TransactionStore } from "./transaction.ts";
import type { WatcherState } from "./watcher_state.ts";
import type {
  Attempt,
  DueDelivery,
  FailedDelivery,
  NewAttempt,
  NextDeliveries,
  Replay,
  Secrets,
  Settlement,
  StoredConsumer,
  Subscription,
} from "./webhook.ts";

export { type Lease, WATCHER_LEASE } from "./lease.ts";
export { isFenced, StoreError, type StoreErrorKind } from "./store_error.ts";
export type { GapReason, HistoryGap, WatcherState } from "./watcher_state.ts";

/**
 * The state of the gateway, by noun. One contract suite (`tests/store/`) proves every sentence below for every driver.
 *
 * All times are integer Unix milliseconds unless a name says otherwise. Undefined fields count as absent, and answers leave
 * them out. Every method rejects with a `StoreError` when the store fails, and with a `RangeError` when the caller exceeds a
 * bound. A write that rejects has written nothing. One exception: when the connection to PostgreSQL breaks during the
 * commit, the outcome is unknown.
 */
export interface Store {
  /** For people: the scheme with the absolute path, or the URL without credentials (`sqlite:/var/lib/gateway.db`). */
  readonly location: string;
  /** 12 letters and digits. The store and its copies share them, no other store has them. */
  readonly id: string;
  /** Whether several gateways may serve from the store at once. If not, `holdForServing` locks the store for one. */
  readonly isShared: boolean;
  /**
   * Locks the store for this `serve` until `close`, or until the process dies. A second call of the lock holder does nothing.
   * Ends all leases of the former lock holder. Rejects with `locked` when another process or handle has the lock. A shared
   * store takes no lock, and keeps its leases.
   */
  holdForServing(): Promise<void>;
  /**
   * Waits for the calls under way, closes the store and releases the lock. Later calls reject with `unavailable`. A second
   * `close` does nothing.
   */
  close(): Promise<void>;
  /**
   * Calls the listener soon after another handle appended to the log, where the store can report it. Notifications may get
   * lost, so the caller also polls.
   */
  onNotification(listener: () => void): void;
  /** Reports every later call to this observer, and to no former one. */
  observe(observer: StoreObserver): void;

  readonly network: NetworkStore;
  readonly keys: KeyStore;
  readonly buckets: BucketStore;
  readonly submissions: SubmissionStore;
  readonly references: ReferenceStore;
  readonly intents: IntentStore;
  readonly leases: LeaseStore;
  readonly sharedState: SharedStateStore;
  readonly events: EventStore;
  readonly subscriptions: SubscriptionStore;
  readonly deliveries: DeliveryStore;
  readonly payments: PaymentStore;
  readonly transactions: TransactionStore;
}

/** Counts the calls of a store. */
export interface StoreObserver {
  /** A call has ended: its name (`events.read`), its duration, and the kind of its failure. Must not throw. */
  called(method: string, durationMs: number, failure?: StoreErrorKind): void;
}

/** The network that the store belongs to. */
export interface NetworkStore {
  /**
   * Binds the store to one network permanently. The first call writes, later calls compare.
   * Rejects with `network_mismatch`, which names both passphrases.
   */
  bind(passphrase: string): Promise<void>;
  /** The passphrase of the network, undefined before `bind`. */
  bound(): Promise<string | undefined>;
  /** Ends a copy: from the next opening on, the store has the id (`Store.id`) of its source. */
  adopt(id: string): Promise<void>;
}

export const SCOPES = ["read", "write", "webhooks"] as const;
export type Scope = (typeof SCOPES)[number];

/** An API key as the store keeps it: without the key itself, only with its SHA-256. */
export interface KeyRecord {
  id: string;
  name: string;
  /** SHA-256 of the whole key string, 64 lower-case hex digits. */
  hash: string;
  scopes: Scope[];
  /** Requests per minute. Absent: the gateway's default. */
  rate?: number;
  disabled: boolean;
  /** ISO 8601 UTC. */
  createdAt: string;
  /** ISO 8601 UTC. Absent: never. */
  expiresAt?: string;
  /** ISO 8601 UTC. Absent: never used. */
  lastUsedAt?: string;
}

export interface KeyStore {
  /** Adds a key. Rejects with `exists` when the id is taken. */
  insert(record: KeyRecord): Promise<void>;
  /** The key with this id, undefined when there is none. */
  get(id: string): Promise<KeyRecord | undefined>;
  /** At most `limit` (≤ 1 000) keys after the id `after`, ascending by id. */
  list(page: { after?: string; limit: number }): Promise<KeyRecord[]>;
  /** Sets `disabled`. Returns the changed record, undefined when there is no such key. */
  setDisabled(id: string, disabled: boolean): Promise<KeyRecord | undefined>;
  /**
   * Deletes a key, its bucket and its subscriptions (as `subscriptions.delete`). Returns false when the store has no such
   * key. The bucket and the subscriptions go all the same, because the key may be in a keys file. One commit, unless the
   * key has more than 100 subscriptions. Then all but the last 100 may go in earlier commits.
   */
  delete(id: string): Promise<boolean>;
  /**
   * Records when keys were last used, at most 500 keys. Passes over unknown ids. Passes over an earlier time than the
   * recorded one, unless the recorded one is `aheadOf` it. Does not raise `version`.
   */
  touch(uses: { id: string; lastUsedAt: string }[]): Promise<void>;
  /** Rises with every insert, disable, enable and delete, by any process: a cheap check for changed keys. */
  version(): Promise<number>;
}

/** A token bucket at rest. */
export interface BucketState {
  keyId: string;
  tokens: number;
  updatedAtMs: number;
}

export interface BucketStore {
  /** Every bucket at rest, in no order. */
  load(): Promise<BucketState[]>;
  /** Writes buckets, at most 500, in one commit. */
  save(buckets: BucketState[]): Promise<void>;
  /** Deletes the buckets last written before this time: by then they are full again. */
  prune(updatedBeforeMs: number): Promise<void>;
}

/** One step of the watcher. Its events and its state become visible together. */
export interface WatcherStep {
  /** The watcher's lease (`WATCHER_LEASE`). */
  lease: Lease;
  /** At most 100. The store passes over a stored id, and over one that comes twice. But a decoded event replaces its stored undecoded form. */
  events: (NewEvent | UndecodedEvent)[];
  state: WatcherState;
  /** For copies: an empty log begins after this sequence, as if the events up to it had been deleted. */
  after?: number;
}

/** Where the log begins and ends. */
export interface LogBounds {
  /** The sequence of the newest event; 0 before the first one. */
  last: number;
  /** The retention job deleted the events up to this sequence. 0: none. */
  forgotten: number;
}

export interface EventQuery {
  filter: EventFilter;
  /** Only sequences above this one. */
  after?: number;
  /** Only sequences up to this one, inclusive. */
  upTo?: number;
  /** Without types: also `OWN_EVENT_TYPES`. */
  withOwn?: true;
}

export interface EventStore {
  /** The state that the watcher committed last, undefined before its first commit. */
  watcherState(): Promise<WatcherState | undefined>;
  /**
   * Commits one step atomically. Gives each new decoded event the next sequence, in the order given. Sequences become
   * visible in their order, without holes. Returns the new decoded events with their sequences. Idempotent: the same step
   * again adds nothing. Rejects with `fenced`.
   */
  append(step: WatcherStep): Promise<LoggedEvent[]>;
  bounds(): Promise<LogBounds>;
  /**
   * At most `limit` (≤ 1 000) events of the log that match, ascending or descending by sequence. The cost depends on `limit`,
   * not on the depth or on the rarity of matches. With several subjects it depends on the rarest single one.
   */
  read(query: EventQuery & { order: "asc" | "desc"; limit: number }): Promise<LoggedEvent[]>;
  /** The number of events that match, counted up to `limit` (≤ 10 000, `MAX_COUNTED`). */
  count(query: EventQuery & { limit: number }): Promise<number>;
  /** The decoded event with this id, undefined when there is none. */
  get(id: string): Promise<LoggedEvent | undefined>;
  /** The highest sequence below every event of this height or above. */
  before(height: number): Promise<number>;
  /** At most `limit` (≤ 100) undecoded events after the id `after`, ascending by epoch and place in the epoch. */
  undecoded(page: { after?: string; limit: number }): Promise<UndecodedEvent[]>;
  /**
   * Deletes the events up to the sequence `upTo` with their failed deliveries, in one commit. `upTo` is at most 200 above
   * the last deleted event. Failed deliveries that were still due for a retry count as dead.
   *
   * For each named consumer (at most 100), moves the cursor to `upTo` and adds `events` to its dead deliveries. Returns
   * false, and writes nothing, when the cursor of one has moved since. `areMore`: a further step names the other consumers,
   * so this one deletes no event.
   */
  forget(
    step: {
      upTo: number;
      undelivered: { subscriptionId: string; cursor: number; events: number }[];
      areMore?: boolean;
    },
  ): Promise<boolean>;
  /** Deletes at most 200 undecoded events of ledgers that closed before this ISO time. Returns their number. */
  forgetUndecoded(closedBefore: string): Promise<number>;
}

export interface SubscriptionStore {
  /**
   * Adds a subscription, with its cursor at the end of the log. Rejects with `exists` when the key has `maxPerKey`
   * subscriptions already (counted atomically), or when the id is in use. Writes the intent of this creation in the same
   * commit. Adds nothing unless the intent is new.
   */
  insert(subscription: Subscription, maxPerKey: number, intent?: NewIntent): Promise<IntentVerdict>;
  /** The subscription with this id, undefined when there is none. */
  get(id: string): Promise<Subscription | undefined>;
  /** At most `limit` (≤ 1 000) subscriptions after the id `after`, ascending by id: of one key, or of all. */
  list(page: { keyId?: string; after?: string; limit: number }): Promise<Subscription[]>;
  /**
   * Deletes a subscription with its progress and its replay. Lists no longer show it, and it has no attempts. False when
   * there is none. `purgeDeleted` deletes the rows of its failed deliveries and attempts later.
   */
  delete(id: string): Promise<boolean>;
  /** Deletes at most 600 rows of deleted subscriptions in one commit. True while there may be more. */
  purgeDeleted(): Promise<boolean>;
  /** Rises with every insert, change and delete of a subscription, and with every new replay. */
  version(): Promise<number>;
  /** A text sealed with the secrets key, for the check of that key at start. Undefined: secrets are stored plain. */
  secretsCheck(): Promise<string | undefined>;
  /**
   * Replaces secrets (at most 100), and returns how many. Passes over a subscription that is gone, and over one whose `secret` is
   * not the expected one: it was rotated. Writes `check` in the same commit: null removes it, undefined leaves it. Raises
   * `version` when it replaces any.
   */
  setSecrets(step: {
    secrets: (Secrets & { id: string; expectedSecret: string })[];
    check?: string | null;
  }): Promise<number>;
}

export interface NextQuery {
  /** New events are those with a sequence above this one … */
  after: number;
  /** … up to this one, inclusive. */
  upTo: number;
  limit: number;
  /** Sequences to leave out: their POST is under way, or its outcome is not written yet. At most 5 000. */
  inFlight: number[];
  /** The time by the clock of the due times, Unix ms. */
  nowMs: number;
  /** Returns the failed delivery of an ordered subscription even before it is due. */
  isProbing?: boolean;
}

export interface FailedQuery {
  subscriptionId: string;
  state: FailedDelivery["state"];
  beyond?: number;
  limit: number;
}

export interface DeliveryStore {
  /** At most `limit` (≤ 500) subscriptions with their progress, after the id `after`, ascending by id. */
  consumers(page: { after?: string; limit: number }): Promise<StoredConsumer[]>;
  /** One subscription with its progress, undefined when there is none. */
  consumer(subscriptionId: string): Promise<StoredConsumer | undefined>;
  /**
   * The next deliveries of a subscription, at most `limit` (2 to 200). It takes turns between failed deliveries that are due
   * (`isDue`), by due time, and events after `after`. So neither kind delays the other. Undefined when the subscription is
   * gone. The cost does not grow with the log, nor with the failed deliveries that are not due.
   *
   * An ordered subscription with a failed delivery gets the first of these alone, when it is due.
   */
  next(subscription: Subscription, query: NextQuery): Promise<NextDeliveries | undefined>;
  /**
   * At most `limit` (≤ 200) failed deliveries of a subscription in one state, with their events. Those in the state
   * `retrying` come in the order of the events, others newest event first. `beyond`: the page starts after this sequence.
   */
  failed(query: FailedQuery): Promise<DueDelivery[]>;
  /**
   * Writes the outcome of deliveries, at most `MAX_SETTLED_WRITES` in all. Writes each subscription's part completely, under
   * the lease of its partition. `leases` has the leases of all partitions concerned. Rejects with `fenced`, and writes
   * nothing, when one is lost. Passes over a deleted subscription.
   */
  settle(step: { leases: Lease[]; settlements: Settlement[] }): Promise<void>;

  /**
   * Adds a replay. Returns `missing`, and adds nothing, when the subscription is gone. Rejects with `exists` while the
   * subscription has a replay. The intent is written as by `subscriptions.insert`.
   */
  insertReplay(replay: Replay, intent?: NewIntent): Promise<IntentVerdict | "missing">;

  /** Records the attempt of a test event, and returns it with its ordinal. Undefined for a deleted subscription. */
  recordAttempt(subscriptionId: string, attempt: NewAttempt): Promise<Attempt | undefined>;
  /** At most `limit` (≤ 200) attempts of a subscription with ordinals below `before`, newest first. */
  attempts(subscriptionId: string, page: { before?: number; limit: number }): Promise<Attempt[]>;
  /** Deletes the attempts of a subscription before this time. Returns their number. */
  pruneAttempts(subscriptionId: string, beforeMs: number): Promise<number>;
}

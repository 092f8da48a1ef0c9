import type { EventFilter, LoggedEvent, NewEvent, UndecodedEvent } from "./event.ts";
import type { IntentClaim, IntentStore } from "./intent.ts";
import type { Lease, LeaseStore } from "./lease.ts";
import type { SharedStateStore } from "./shared_state.ts";
import type { StoreErrorKind } from "./store_error.ts";
import type { SubmissionStore } from "./submission.ts";
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
 * What the gateway keeps, in the words of its domain, by noun. One contract suite (`tests/store/`) proves every sentence
 * below for every driver. All times are integer Unix milliseconds unless a name says otherwise. Every method rejects with
 * a `StoreError` when the store cannot do its work, and with a `RangeError` when a bound stated below is passed; a write
 * that rejects has written nothing, unless the way to a store elsewhere broke while it committed: then that is not known.
 * Fields that are undefined count as absent, and absent ones are absent in answers.
 */
export interface Store {
  /** For people: absolute path or URL without credentials, with its scheme (`sqlite:/var/lib/gateway.db`). */
  readonly location: string;
  /** Unique to this store and its copies: 12 letters and digits, made with it. */
  readonly id: string;
  /** Whether several gateways may serve from it at once; else `holdForServing` keeps all but one off. */
  readonly isShared: boolean;
  /**
   * Holds the store for this `serve` until `close`, or until the process dies; again by its holder it does nothing. All
   * leases and claims of intents that a former holder left are over. Rejects with `locked` when another process or handle
   * holds it. A shared store keeps nobody off, and ends no lease and no claim.
   */
  holdForServing(): Promise<void>;
  /**
   * Waits for what is under way, closes and gives the hold back. Further calls reject with `unavailable`; a second
   * `close` does nothing.
   */
  close(): Promise<void>;
  /**
   * Has the listener called from now on soon after another handle appended to the log, where the store can tell. It may not
   * be told of everything: whoever has to know asks now and then.
   */
  onNotification(listener: () => void): void;
  /** Has every call told to this observer from now on, instead of to the one before. */
  observe(observer: StoreObserver): void;

  readonly network: NetworkStore;
  readonly keys: KeyStore;
  readonly buckets: BucketStore;
  readonly submissions: SubmissionStore;
  readonly intents: IntentStore;
  readonly leases: LeaseStore;
  readonly sharedState: SharedStateStore;
  readonly events: EventStore;
  readonly subscriptions: SubscriptionStore;
  readonly deliveries: DeliveryStore;
}

/** Who counts what is asked of a store. */
export interface StoreObserver {
  /** A call has ended: `events.read`, how long it took, and of which kind its failure was. Must not throw. */
  called(method: string, durationMs: number, failure?: StoreErrorKind): void;
}

/** Which network the store is of. */
export interface NetworkStore {
  /**
   * Binds the store to one network for good. The first call writes, later ones compare.
   * Rejects with `network_mismatch`, naming both passphrases.
   */
  bind(passphrase: string): Promise<void>;
  /** The passphrase the store is bound to, undefined while it is not bound. */
  bound(): Promise<string | undefined>;
  /** Ends a copy: from the next opening on the store has the id (`Store.id`) of the one that it was copied from. */
  adopt(id: string): Promise<void>;
}

export const SCOPES = ["read", "write", "webhooks"] as const;
export type Scope = (typeof SCOPES)[number];

/** An API key as it is kept: the key itself is never stored, only its SHA-256. */
export interface KeyRecord {
  id: string;
  name: string;
  /** SHA-256 of the whole key string, 64 lower-case hex digits. */
  hash: string;
  scopes: Scope[];
  /** Requests per minute; absent: the gateway's default. */
  rate?: number;
  disabled: boolean;
  /** ISO 8601 UTC. */
  createdAt: string;
  /** ISO 8601 UTC; absent: never. */
  expiresAt?: string;
  /** ISO 8601 UTC; absent: never used. */
  lastUsedAt?: string;
}

export interface KeyStore {
  /** Adds a key. Rejects with `exists` when the id is taken. */
  insert(record: KeyRecord): Promise<void>;
  /** The key with this id, undefined when there is none. */
  get(id: string): Promise<KeyRecord | undefined>;
  /** Keys ascending by id, at most `limit` (≤ 1 000) after the id `after`. */
  list(page: { after?: string; limit: number }): Promise<KeyRecord[]>;
  /** Sets `disabled`; answers the record as it is then, undefined when there is no such key. */
  setDisabled(id: string, disabled: boolean): Promise<KeyRecord | undefined>;
  /**
   * Deletes a key, its bucket and its subscriptions (as `subscriptions.delete`); false when there is no such key: what
   * belongs to a key that is kept elsewhere goes all the same. In one commit, unless it has more than 100 subscriptions:
   * then those before the last 100 may go in commits of their own, before the key.
   */
  delete(id: string): Promise<boolean>;
  /**
   * Notes when keys were last used, at most 500 at once; ids that do not exist are passed over, and so is a time before the
   * one noted, unless that is `aheadOf` it. Does not raise `version`.
   */
  touch(uses: { id: string; lastUsedAt: string }[]): Promise<void>;
  /** Rises with every insert, disable, enable and delete, from any process: a cheap way to see that keys changed. */
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
  /** Forgets the buckets last written before this time (a bucket that refilled is a full one). */
  prune(updatedBeforeMs: number): Promise<void>;
}

/** One step of the watcher: its events and its state become visible together or not at all. */
export interface WatcherStep {
  /** The watcher's lease (`WATCHER_LEASE`). */
  lease: Lease;
  /** At most 100. One whose id is held already, decoded or not, is left as it is. */
  events: (NewEvent | UndecodedEvent)[];
  state: WatcherState;
  /** Has a log that is empty begin behind this sequence, as if the events up to it had been forgotten; for copies. */
  after?: number;
}

/** Where the log begins and ends. */
export interface LogBounds {
  /** The sequence of the newest event; 0 while there was none. */
  last: number;
  /** Events up to this sequence were forgotten; 0: none was. */
  forgotten: number;
}

export interface EventQuery {
  filter: EventFilter;
  /** Only sequences above this one. */
  after?: number;
  /** Only sequences up to this one, inclusive. */
  upTo?: number;
}

export interface EventStore {
  /** Where the watcher stands, undefined before its first commit. */
  watcherState(): Promise<WatcherState | undefined>;
  /**
   * Commits one step atomically, and gives each new decoded event the next sequence, in the order given; sequences become
   * visible in their order, without holes. Answers the events that were new and decoded, with their sequences. Idempotent:
   * the same step again adds nothing. Rejects with `fenced`.
   */
  append(step: WatcherStep): Promise<LoggedEvent[]>;
  bounds(): Promise<LogBounds>;
  /**
   * Events of the log that match, by sequence, ascending or descending, at most `limit` (≤ 1 000). The cost depends on
   * `limit`, not on the depth or on how rare matches are (of several subjects at once on the rarest single one).
   */
  read(query: EventQuery & { order: "asc" | "desc"; limit: number }): Promise<LoggedEvent[]>;
  /** How many match, counted up to `limit` (≤ 10 000, `MAX_COUNTED`). */
  count(query: EventQuery & { limit: number }): Promise<number>;
  /** The decoded event with this id, undefined when there is none. */
  get(id: string): Promise<LoggedEvent | undefined>;
  /** The highest sequence such that all events of this height or above come after it. */
  before(height: number): Promise<number>;
  /** Events that could not be decoded, ascending by epoch and place in it, at most `limit` (≤ 100) after the id `after`. */
  undecoded(page: { after?: string; limit: number }): Promise<UndecodedEvent[]>;
  /**
   * Appends the decoded form of undecoded events (at most 100) in the order given, in one commit; ids that are not held
   * undecoded are passed over. Answers as `append`. Rejects with `fenced`.
   */
  appendDecoded(step: { lease: Lease; events: NewEvent[] }): Promise<LoggedEvent[]>;
  /**
   * Forgets the events up to a sequence that lies at most 200 above the last one forgotten, with what is kept of their
   * failed deliveries: those that were still retrying count as dead. The consumers named (at most 100) have their dead raised
   * by what they had not been sent, and their cursors moved to `upTo`, unless one has moved since: then nothing is written
   * and the answer is false. `areMore`: other consumers are to be named in a further step, and no event goes before.
   */
  forget(
    step: {
      upTo: number;
      undelivered: { subscriptionId: string; cursor: number; events: number }[];
      areMore?: boolean;
    },
  ): Promise<boolean>;
  /** Forgets undecoded events of ledgers closed before this ISO time, at most 200; answers how many went. */
  forgetUndecoded(closedBefore: string): Promise<number>;
}

export interface SubscriptionStore {
  /**
   * Adds a subscription, its cursor at the end of the log. Rejects with `exists` when its key has `maxPerKey` already
   * (counted atomically), or when the id is taken; with `fenced` when another has claimed the intent it is made for, since
   * this `claim`.
   */
  insert(subscription: Subscription, maxPerKey: number, claim?: IntentClaim): Promise<void>;
  /** The subscription with this id, undefined when there is none. */
  get(id: string): Promise<Subscription | undefined>;
  /** Of one key, or of all when absent: ascending by id, at most `limit` (≤ 1 000) after the id `after`. */
  list(page: { keyId?: string; after?: string; limit: number }): Promise<Subscription[]>;
  /** Replaces its secrets if `secret` is still the one given; false otherwise or when it is gone. */
  setSecrets(id: string, expectedSecret: string, secrets: Secrets): Promise<boolean>;
  /**
   * Deletes it with its progress and its replay: from here on it is not listed, is owed nothing and has no attempts; false
   * when there is none. What is left of its failed deliveries and attempts is left to `purgeDeleted`.
   */
  delete(id: string): Promise<boolean>;
  /** Removes what deleted subscriptions left behind, at most 600 rows in one commit; true while there may be more. */
  purgeDeleted(): Promise<boolean>;
  /** Rises with every insert, change and delete of a subscription and every new replay. */
  version(): Promise<number>;
  /** A text sealed with the secrets key, by which a wrong key is told at start; undefined: secrets are kept plain. */
  secretsCheck(): Promise<string | undefined>;
  /**
   * Changes how secrets are kept: rewrites these secrets (at most 100) and answers how many. One whose `secret` is no
   * longer the expected one, because it was rotated, and one whose subscription is gone are passed over. `check` is
   * written with them in one commit, null removes it, undefined leaves it. Raises `version` when it rewrites any.
   */
  resealSecrets(step: {
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
  /** Sequences that are left out: they are being posted, or what became of them is not written yet. At most 5 000. */
  inFlight: number[];
  /** The time by the clock that due times go by, Unix ms. */
  nowMs: number;
  /** Answers an ordered subscription's delivery that retries also before it is due. */
  isProbing?: boolean;
}

export interface FailedQuery {
  subscriptionId: string;
  state: FailedDelivery["state"];
  beyond?: number;
  limit: number;
}

export interface DeliveryStore {
  /** Subscriptions with their progress, ascending by id, at most `limit` (≤ 500) after the id `after`. */
  consumers(page: { after?: string; limit: number }): Promise<StoredConsumer[]>;
  /** One of them, undefined when there is none. */
  consumer(subscriptionId: string): Promise<StoredConsumer | undefined>;
  /**
   * What a subscription posts next, at most `limit` (2 to 200) deliveries: failed ones that are due (`isDue`), by due time,
   * and events of the log behind `after`, in turns, so that neither kind keeps the other waiting. Undefined when the
   * subscription is gone. The cost does not grow with the log, nor with what is not due.
   *
   * An ordered subscription with a delivery that retries is answered that one alone, the first of several, when it is due.
   */
  next(subscription: Subscription, query: NextQuery): Promise<NextDeliveries | undefined>;
  /**
   * Failed deliveries of a subscription that are kept in this state, with their events, at most `limit` (≤ 200): those that
   * retry oldest event first, others newest first, beyond the sequence `beyond` where one is given.
   */
  failed(query: FailedQuery): Promise<DueDelivery[]>;
  /**
   * Writes what became of deliveries, at most `MAX_SETTLED_WRITES` in all. Each subscription's part is written whole, under the lease of its partition: `leases` holds those of all partitions named.
   * Rejects with `fenced` when one is lost, and has written nothing then. A deleted subscription's part is passed over.
   */
  settle(step: { leases: Lease[]; settlements: Settlement[] }): Promise<void>;

  /**
   * Adds a replay; false, and nothing added, when the subscription is gone. Rejects with `exists` while it has one; with
   * `fenced` when another has claimed the intent it is begun for, since this `claim`.
   */
  insertReplay(replay: Replay, claim?: IntentClaim): Promise<boolean>;

  /** Notes the attempt of a test event; passes over a deleted subscription. Answers it with its ordinal. */
  recordAttempt(subscriptionId: string, attempt: NewAttempt): Promise<Attempt | undefined>;
  /** Attempts of a subscription, newest first, at most `limit` (≤ 200), with ordinals below `before`. */
  attempts(subscriptionId: string, page: { before?: number; limit: number }): Promise<Attempt[]>;
  /** Forgets a subscription's attempts made before this time; answers how many went. */
  pruneAttempts(subscriptionId: string, beforeMs: number): Promise<number>;
}

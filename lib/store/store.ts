import type { WebhookStore } from "./webhook_store.ts";

/**
 * What the gateway keeps, in the words of its domain. One contract suite (`tests/store/`) proves every sentence below
 * for every driver. All times are integer Unix milliseconds unless a name says otherwise. Every method rejects with a
 * `StoreError` when the store cannot do its work, and with a `RangeError` when a bound stated below is passed; a write
 * that rejects has written nothing. Fields that are undefined count as absent, and absent ones are absent in answers.
 */

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

/** A token bucket at rest. */
export interface BucketState {
  keyId: string;
  tokens: number;
  updatedAtMs: number;
}

/** A contract event as it is kept and answered. Positions sort as text, oldest first, across epochs. */
export interface StoredEvent {
  /** See `events/position.ts`: epoch, then the RPC's event id. Unique. */
  position: string;
  /** Unique over all epochs; consumers deduplicate on it. */
  id: string;
  /** One of the nine event types, or null when the event could not be decoded: kept raw, not shown in history. */
  type: string | null;
  contractId: string;
  ledger: number;
  /** ISO 8601 UTC. */
  ledgerClosedAt: string;
  txHash: string;
  deviceHash?: string;
  agent?: string;
  merchant?: string;
  /** Decimal string. */
  amount?: string;
  /** Base64 XDR of topics and value, only while `type` is null. */
  raw?: { topics: string[]; value: string };
}

/** Ledgers whose events could not be read: the node no longer held them. Both ends belong to the gap. */
export interface HistoryGap {
  epoch: number;
  fromLedger: number;
  toLedger: number;
  /** ISO 8601 UTC, when it was noticed. */
  noticedAt: string;
}

/** How far the watcher has come. */
export interface WatcherState {
  /** Raised when the network was reset: its ledgers are numbered anew. */
  epoch: number;
  /** Comma-separated contract ids that were watched, sorted. */
  contractIds: string;
  /** The first ledger whose events are held in this epoch. */
  oldestLedger: number;
  /** All ledgers up to this one have been scanned. */
  scannedLedger: number;
  /** Close time of the newest ledger the node has shown, Unix seconds. */
  latestLedgerCloseTime: number;
  /** The newest ledger the node has shown. */
  latestLedger: number;
  /** The RPC's cursor for the next page; absent: ask from `scannedLedger + 1`. */
  rpcCursor?: string;
}

/** One turn of the watcher: its events, its state and the gaps it found become visible together or not at all. */
export interface EventSlice {
  /** At most 100 events, ascending by position. An event whose position is held already is left as it is. */
  events: StoredEvent[];
  state: WatcherState;
  /** At most 100. A gap that is held already keeps when it was noticed. */
  gaps?: HistoryGap[];
}

export interface EventQuery {
  /** Exclusive lower bound; absent: from the oldest event held. */
  after?: string;
  /** Inclusive upper bound. */
  upTo?: string;
  limit: number;
  /** Any of these types; an empty list matches nothing. */
  types?: string[];
  deviceHash?: string;
  merchant?: string;
}

/** An envelope that was or is about to be sent: its outcome can be told after a crash or a time-out. */
export interface Submission {
  /** Hash of the outer transaction, hex. */
  hash: string;
  /** The upper time bound, Unix seconds. */
  validUntil: number;
  submittedAtMs: number;
}

export type StoreErrorKind =
  | "locked"
  | "full"
  | "network_mismatch"
  | "newer_schema"
  | "exists"
  | "missing"
  | "unavailable";

/** `message` is fit for an operator: it names the store and says what to do; no credentials in it. */
export class StoreError extends Error {
  constructor(readonly kind: StoreErrorKind, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "StoreError";
  }
}

export interface Store extends WebhookStore {
  /** For people: absolute path or URL without credentials, with its scheme (`sqlite:/var/lib/gateway.db`). */
  readonly location: string;

  /**
   * Binds the store to one network for good. The first call writes, later ones compare.
   * Rejects with `network_mismatch`, naming both passphrases.
   */
  bindNetwork(passphrase: string): Promise<void>;
  /** The passphrase the store is bound to, undefined while it is not bound. */
  boundNetwork(): Promise<string | undefined>;
  /**
   * Holds the store for this `serve` until `close`, or until the process dies; again by its holder it does nothing.
   * Rejects with `locked` when another process or handle holds it. Nobody else delivers then: the leases that a killed
   * holder left are over (what `notBeforeMs` holds back stays so). Deno KV without a path is shared: holding it keeps
   * nobody off, and ends no lease.
   */
  holdForServing(): Promise<void>;

  /** Adds a key. Rejects with `exists` when the id is taken. */
  insertKey(record: KeyRecord): Promise<void>;
  /** The key with this id, undefined when there is none. */
  getKey(id: string): Promise<KeyRecord | undefined>;
  /** Keys ascending by id, at most `limit` (≤ 1 000) after the id `after`. */
  listKeys(page: { after?: string; limit: number }): Promise<KeyRecord[]>;
  /** Sets `disabled`; answers the record as it is then, undefined when there is no such key. */
  setKeyDisabled(id: string, disabled: boolean): Promise<KeyRecord | undefined>;
  /**
   * Deletes a key, its bucket and its subscriptions (as `deleteSubscription`); false when there is no such key: what
   * belongs to a key that is kept elsewhere goes all the same. In one commit, unless it has more than 100
   * subscriptions: then those before the last 100 may go in commits of their own, before the key.
   */
  deleteKey(id: string): Promise<boolean>;
  /** Notes when keys were last used, at most 500 at once; ids that do not exist are passed over. Does not raise `keysVersion`. */
  touchKeys(uses: { id: string; lastUsedAt: string }[]): Promise<void>;
  /** Rises with every insert, disable, enable and delete, from any process: a cheap way to see that keys changed. */
  keysVersion(): Promise<number>;

  /** Every bucket at rest, in no order. */
  loadBuckets(): Promise<BucketState[]>;
  /** Writes buckets, at most 500, in one commit. */
  saveBuckets(buckets: BucketState[]): Promise<void>;
  /** Forgets the buckets last written before this time (a bucket that refilled is a full one). */
  pruneBuckets(updatedBeforeMs: number): Promise<void>;

  /** Where the watcher stands, undefined before its first commit. */
  watcherState(): Promise<WatcherState | undefined>;
  /**
   * Commits one slice atomically. Idempotent: the same slice again changes nothing. New decoded events that fan-out has
   * passed become late (`lateEvents`), but for what lies before one that was forgotten (`prunedUpTo`). New events in
   * ledgers that were scanned before, and a state that goes back in its epoch, raise `rereads` of the fan-out cursor.
   */
  commitEvents(slice: EventSlice): Promise<void>;
  /** Decoded events that match every given filter, ascending by position, at most `limit` (≤ 1 000). */
  readEvents(query: EventQuery): Promise<StoredEvent[]>;
  /** Events that could not be decoded, ascending by position, at most `limit` (≤ 100) after `after`. */
  undecodedEvents(page: { after?: string; limit: number }): Promise<StoredEvent[]>;
  /**
   * Replaces undecoded events (at most 100, by position) with their decoded form, in one commit. Positions that are not
   * held undecoded are passed over. Raises `rereads` of the fan-out cursor; those that it has passed become late.
   */
  decodeEvents(events: StoredEvent[]): Promise<void>;
  /** All gaps, ascending by epoch and ledger. */
  gaps(): Promise<HistoryGap[]>;

  /** Notes an envelope before it is sent; the same hash again keeps the first note. Durable when it resolves. */
  recordSubmission(submission: Submission): Promise<void>;
  /** The note on this hash, undefined when this gateway never sent it. */
  getSubmission(hash: string): Promise<Submission | undefined>;
  /** Forgets submissions noted before this time, at most 500 at a call; answers how many went. */
  pruneSubmissions(submittedBeforeMs: number): Promise<number>;

  /**
   * Waits for what is under way, closes and gives the hold back. Further calls reject with `unavailable`; a second
   * `close` does nothing.
   */
  close(): Promise<void>;
}

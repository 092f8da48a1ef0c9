import { randomBytes } from "node:crypto";
import { randomBase62 } from "../../random.ts";
import type { Kv, KvKey } from "../../runtime/kv.ts";
import { packAddress, packHash } from "../codec.ts";
import { type EventFilter, heightOf, type NewEvent, parseEventId } from "../event.ts";
import type { IntentName, KeptClaim } from "../intent.ts";
import type { KeptTransactionIntent, TransactionIntentName } from "../transaction_intent.ts";
import type { FailedDelivery, Progress, Replay } from "../webhook.ts";

/**
 * Where Deno KV keeps what, and what is written there. One commit takes 1 000 writes, 80 KiB of keys and 800 KiB in all,
 * and ten checks; a value has 64 KiB at most. In a file, whatever is written costs two pages (SQLite's of the key, and of
 * an index over all keys), unless it lies beside something else that is written.
 *
 * Under this key is the number of the schema.
 */
export const SCHEMA: KvKey = ["schema"];

/** Leads from one schema to the next, in as many commits as it needs: one that was cut off is done again, and has to come to the same. */
export type DenoKvStep = (kv: Kv) => Promise<void>;

/** From schema 1 to 2, and so on. None that was released is ever changed. */
export const STEPS: DenoKvStep[] = [];

/** The newest schema, which this program works on. */
export const SCHEMA_VERSION = STEPS.length + 1;

/** Twelve letters and digits, written with the schema. */
export const STORE_ID: KvKey = ["store_id"];
export const newStoreId = () => randomBase62(12, randomBytes);
export const NETWORK: KvKey = ["network"];

/** `Submission`. */
export const submissionKey = (hash: string): KvKey => ["submission", hash];
export const submissionTimeKey = (submittedAtMs: number, hash: string): KvKey => [
  "submission_by_time",
  submittedAtMs,
  hash,
];
/** Lists those without an outcome; and those of one account. */
export const WITHOUT_OUTCOME: KvKey = ["submission_unsettled"];
export const withoutOutcomeOf = (source: string): KvKey => ["submission_unsettled_of", source];

/** `IntentEntry`. */
export const intentKey = ({ keyId, kind, key }: IntentName): KvKey => ["intent", keyId, kind, key];
export interface IntentEntry {
  id: string;
  term: number;
  request: string;
  /** Null: nobody is at it. */
  claim: (KeptClaim & { handle: string }) | null;
  /** Or last claimed. */
  completedAtMs: number;
  /** UTF-8, so that it takes the bytes it has. Null: nothing yet. */
  result: Uint8Array | null;
}
/** `IntentName`. */
export const intentTimeKey = (completedAtMs: number, { keyId, kind, key }: IntentName): KvKey => [
  "intent_by_time",
  completedAtMs,
  keyId,
  kind,
  key,
];
/** `TransactionIntentEntry`. */
export const transactionIntentKey = (
  { keyId, key }: TransactionIntentName,
): KvKey => ["transaction_intent", keyId, key];
export interface TransactionIntentEntry extends Omit<KeptTransactionIntent, "envelope"> {
  /** The first piece of the envelope's bytes. */
  bytes: Uint8Array;
}
/** The second and third piece of an envelope's bytes, where there are so many. */
export const transactionIntentPieceKey = ({ keyId, key }: TransactionIntentName, piece: number): KvKey => [
  "transaction_intent_piece",
  keyId,
  key,
  piece,
];
/** `TransactionIntentName`. */
export const transactionIntentTimeKey = (usedAtMs: number, { keyId, key }: TransactionIntentName): KvKey => [
  "transaction_intent_by_time",
  usedAtMs,
  keyId,
  key,
];
/** Counters: of an API key's, and of all. */
export const intentCountKey = (keyId: string): KvKey => ["intent_count", keyId];
export const INTENT_COUNT: KvKey = ["intents"];

/** `NonceOut`. */
export const nonceKey = (deviceHash: string, agent: string): KvKey => ["nonce_out", deviceHash, agent];
/** Device and agent; some of nonces that others came after. */
export const nonceTimeKey = (untilMs: number, deviceHash: string, agent: string): KvKey => [
  "nonce_out_by_time",
  untilMs,
  deviceHash,
  agent,
];

/** `LeaseEntry`. IdempotentOperation there it stays, so that terms only rise. */
export const leaseKey = (name: string): KvKey => ["lease", name];
export interface LeaseEntry {
  /** Null: given back. */
  holder: string | null;
  term: number;
  untilMs: number;
}

/** `WatcherState` in pieces (`large_values.ts`): beside the log, which is written with it. */
export const WATCHER: KvKey = ["log_watcher"];

/** `LogEntry`: written with every event, and checked, so that sequences have no holes and are seen in their order. */
export const LOG: KvKey = ["log"];
export interface LogEntry {
  last: number;
  /** The greatest height of all events so far; −1 before the first. */
  highest: number;
}
/** A sequence: events up to it count as gone, also those that are still there. */
export const FORGOTTEN: KvKey = ["forgotten"];
/** `LoggedEvent`. */
export const eventKey = (sequence: number): KvKey => ["event", sequence];
/** The sequence of an event. 0: it is held undecoded. */
export const idKey = (id: string): KvKey => ["id", ...placeOf(id)];
/** The sequence of the first event of this height, written when it was the greatest so far. */
export const reachedKey = (height: number): KvKey => ["reached", height];
/** The height of an event that came when a greater one was there already. */
export const lateKey = (sequence: number): KvKey => ["late", sequence];
/** There are events of this type: those without a filter on types look through these. */
export const typeKey = (type: string): KvKey => ["log_type", type];

/** By which index each condition of a filter is met. */
const INDEXES = {
  types: "type",
  deviceHash: "subject",
  merchant: "subject",
  agent: "subject",
  txHash: "subject",
  fromHeight: "height",
  toHeight: "height",
} as const satisfies Record<keyof EventFilter, "type" | "subject" | "height">;

export type Subject = { [Key in keyof typeof INDEXES]: typeof INDEXES[Key] extends "subject" ? Key : never }[
  keyof typeof INDEXES
];
export const SUBJECTS = Object.entries(INDEXES).filter(([, index]) => index === "subject")
  .map(([field]) => field as Subject);

/** Indexes end with the sequence: what matches is a range of one of them for each type. */
export const typeIndex = (type: string): KvKey => ["by_type", type];
export const subjectIndex = (field: Subject, value: string, type: string): KvKey => ["by", field, pack(value), type];

/** Hashes and addresses as the bytes they stand for: keys are stored twice. */
function pack(value: string): Uint8Array | string {
  const packed = packHash(value);
  return typeof packed === "string" ? packAddress(value) : packed;
}

/** Where an event is listed beside its own place: at most five keys. */
export function indexKeys(event: NewEvent, sequence: number): KvKey[] {
  const bySubject = SUBJECTS.flatMap((field) => {
    const value = event[field];
    return value === undefined ? [] : [[...subjectIndex(field, value, event.type), sequence]];
  });
  return [[...typeIndex(event.type), sequence], ...bySubject];
}

/** `UndecodedEvent` without `raw`, which is kept in pieces: it may have more than fits a value. */
export const undecodedKey = (id: string): KvKey => ["undecoded", ...placeOf(id)];
export const rawKey = (id: string): KvKey => ["undecoded_raw", ...placeOf(id)];

/** By epoch and place in it. */
function placeOf(id: string): number[] {
  const parts = parseEventId(id);
  if (parts === undefined) throw new Error(`not an event id: ${JSON.stringify(id)}`);
  return [heightOf(parts.epoch, parts.ledger), parts.order, parts.index];
}

/** `Subscription`. */
export const subscriptionKey = (id: string): KvKey => ["subscription", id];
export const subscriptionOfKey = (keyId: string, id: string): KvKey => ["subscription_by_key", keyId, id];
/** How many a key has: checked, so that two inserts at once don't pass the bound. */
export const subscriptionCountKey = (keyId: string): KvKey => ["subscription_count", keyId];
/** Raised by every change of a subscription: one check of it stands for a check of each. */
export const SUBSCRIPTIONS_VERSION: KvKey = ["subscriptions_version"];
export const SECRETS_CHECK: KvKey = ["secrets_check"];
/** `true`, from its deletion until nothing of it is left. */
export const deletedKey = (subscriptionId: string): KvKey => ["deleted_subscription", subscriptionId];

/** `ConsumerEntry`, there as long as its subscription. Not far from the leases: the two are written together. */
export const consumerKey = (subscriptionId: string): KvKey => ["progress", subscriptionId];
export interface ConsumerEntry {
  progress: Progress;
  replay: Replay | null;
  /** How many of those that ended are kept. */
  kept: { rejected: number; dead: number };
  /** Of the last attempt. */
  ordinal: number;
  /** No attempt that is kept was made before. Null: none is kept. */
  attemptsSinceMs: number | null;
  /** The latest `attemptedAtMs` that a failed delivery had. Absent: none had one. */
  attemptedUntilMs?: number;
}
/** Raised by whoever writes or deletes a consumer without its partition's lease: one check stands for a check of each. */
export const READERS_VERSION: KvKey = ["progress_version"];

/** `FailedDelivery`. */
export const failedKey = (sequence: number, subscriptionId: string): KvKey => ["failed", sequence, subscriptionId];
/** Lists a subscription's failed deliveries. */
export const stateKey = (subscriptionId: string, state: FailedDelivery["state"], sequence: number): KvKey => [
  "failed_of",
  subscriptionId,
  state,
  sequence,
];
/** `attemptedAtMs` of those that are to be tried again. */
export const dueKey = (subscriptionId: string, dueAtMs: number, sequence: number): KvKey => [
  "due",
  subscriptionId,
  dueAtMs,
  sequence,
];
/** `Attempt`: its ordinal, less full rounds. */
export const attemptKey = (subscriptionId: string, slot: number): KvKey => ["attempt", subscriptionId, slot];

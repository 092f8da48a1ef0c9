import { randomBytes } from "node:crypto";
import { randomBase62 } from "../../random.ts";
import type { Kv, KvKey } from "../../runtime/kv.ts";
import { packAddress, packHash } from "../codec.ts";
import { type EventFilter, heightOf, type NewEvent, parseEventId } from "../event.ts";
import type { IntentName, KeptIntent } from "../intent.ts";
import type { PaymentPlace, PaymentState, PaymentSubject, StoredPayment } from "../payment.ts";
import type { GivenReference, ReferencePlace } from "../reference.ts";
import type { SubmittedTransaction, TransactionSubject } from "../transaction.ts";
import type { FailedDelivery, Progress, Replay } from "../webhook.ts";

/**
 * The keys and values of Deno KV. One commit takes 1 000 writes, 80 KiB of keys, 800 KiB in all, and ten checks. A value has at
 * most 64 KiB. In a file, each write changes two pages: SQLite's page of the key, and one of an index over all keys. Writes of
 * nearby keys share pages.
 *
 * This key has the number of the schema.
 */
export const SCHEMA: KvKey = ["schema"];

/** Migrates one schema to the next, in any number of commits. An interrupted step runs again, and must have the same result. */
export type DenoKvStep = (kv: Kv) => Promise<void>;

/** The steps from schema 1 to 2, and so on. A released step never changes. */
export const STEPS: DenoKvStep[] = [];

/** The newest schema, which this program uses. */
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
/** Lists the submissions without an outcome: of all, and of one account. */
export const WITHOUT_OUTCOME: KvKey = ["submission_unsettled"];
export const withoutOutcomeOf = (source: string): KvKey => ["submission_unsettled_of", source];

/** `SubmittedTransaction`. */
export const TRANSACTION: KvKey = ["sent"];
export const transactionKey = ({ hash, keyId }: Pick<SubmittedTransaction, "hash" | "keyId">): KvKey => [
  ...TRANSACTION,
  hash,
  keyId,
];
export const TRANSACTION_BY_TIME: KvKey = ["sent_by_time"];
export const transactionTimeKey = ({ submittedAtMs, hash, keyId }: SubmittedTransaction): KvKey => [
  ...TRANSACTION_BY_TIME,
  submittedAtMs,
  hash,
  keyId,
];
/** The transactions of a key in a status, and those of a subject, whose status follows. Then come time and hash. */
export const transactionIndex = (
  keyId: string,
  status: SubmittedTransaction["status"],
): KvKey => ["sent_s", keyId, status];
export const transactionSubjectIndex = (keyId: string, subject: TransactionSubject, value: string): KvKey => [
  "sent_of",
  subject,
  keyId,
  value,
];

/** `GivenReference`. */
export const REFERENCE: KvKey = ["reference"];
export const referenceKey = ({ hash, keyId }: Pick<GivenReference, "hash" | "keyId">): KvKey => [
  ...REFERENCE,
  hash,
  keyId,
];
export const REFERENCE_BY_TIME: KvKey = ["reference_by_time"];
export const referenceTimeKey = ({ hash, keyId, preparedAtMs }: ReferencePlace): KvKey => [
  ...REFERENCE_BY_TIME,
  preparedAtMs,
  hash,
  keyId,
];

/** The transactions that keys prepared with a reference. Key, time and hash follow. */
export const referenceTextKey = (reference: string): KvKey => ["reference_by_text", reference];

/** `IntentEntry`. */
export const intentKey = ({ keyId, kind, key }: IntentName): KvKey => ["intent", keyId, kind, key];
export interface IntentEntry extends Omit<KeptIntent, "state" | "envelope"> {
  /** JSON in UTF-8, so that its size is known. */
  state: Uint8Array;
  hasEnvelope: boolean;
}
/** A piece of the envelope's bytes. */
export const intentPieceKey = ({ keyId, kind, key }: IntentName, piece: number): KvKey => [
  "intent_piece",
  keyId,
  kind,
  key,
  piece,
];
/** `IntentName`. */
export const intentTimeKey = (usedAtMs: number, { keyId, kind, key }: IntentName): KvKey => [
  "intent_by_time",
  usedAtMs,
  keyId,
  kind,
  key,
];
/** Counters of the intents of an API key, and of all. */
export const intentCountKey = (keyId: string): KvKey => ["intent_count", keyId];
export const INTENT_COUNT: KvKey = ["intents"];

/** `StoredPayment`. */
export const paymentKey = (id: string): KvKey => ["payment", ...placeOf(id)];
/** The place of a payment in its indexes. A commit has few bytes for keys, so the names are short. */
export const paymentPlace = ({ authorizedAt, id }: PaymentPlace): number[] => [authorizedAt, ...placeOf(id)];
/** The key of the payment in this place. */
export const paymentKeyAt = (place: (number | string)[]): KvKey => ["payment", ...place.slice(1)];
/** The payments in a state. */
export const paymentIndex = (state: PaymentState): KvKey => ["pay_s", state];
/** The payments of a subject. The state and the place follow. */
export const paymentSubjectIndex = (subject: PaymentSubject, value: string): KvKey => ["pay", subject, pack(value)];
/** The payments to look at again. The place follows. */
export const paymentDueIndex = (due: NonNullable<StoredPayment["due"]>): KvKey => ["pay_due", due.for, due.ledger];
/** The payments whose own event the log lacks. The place follows. */
export const PAYMENTS_OWING: KvKey = ["pay_owes"];
/** `PaymentsCursor` in pieces (`LargeValue`). */
export const PAYMENTS_CURSOR: KvKey = ["payments_cursor"];

/** `LeaseEntry`. It is never deleted, so that terms only rise. */
export const leaseKey = (name: string): KvKey => ["lease", name];
export interface LeaseEntry {
  /** Null: released. */
  holder: string | null;
  term: number;
  untilMs: number;
}

/** `WatcherState` in pieces (`LargeValue`), near the log, because both are written together. */
export const WATCHER: KvKey = ["log_watcher"];

/** `LogEntry`. Every commit of events checks and writes it, so that sequences have no holes and become visible in their order. */
export const LOG: KvKey = ["log"];
export interface LogEntry {
  last: number;
  /** The greatest height of all events so far. −1 before the first. */
  highest: number;
}
/** A sequence. Events up to it count as deleted, also those that are still there. */
export const FORGOTTEN: KvKey = ["forgotten"];
/** `LoggedEvent`. */
export const eventKey = (sequence: number): KvKey => ["event", sequence];
/** The sequence of an event. 0: it is undecoded. */
export const idKey = (id: string): KvKey => ["id", ...placeOf(id)];
/** The sequence of the first event of this height, if the height was the greatest so far. */
export const reachedKey = (height: number): KvKey => ["reached", height];
/** The height of a late event: the log already had a greater height. */
export const lateKey = (sequence: number): KvKey => ["late", sequence];
/** The event types that exist. A query without types searches all of them. */
export const typeKey = (type: string): KvKey => ["log_type", type];

/** The index of each condition of a filter. */
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

/** Indexes end with the sequence, so matches are a range of one index for each type. */
export const typeIndex = (type: string): KvKey => ["by_type", type];
export const subjectIndex = (field: Subject, value: string, type: string): KvKey => ["by", field, pack(value), type];

/** Hashes and addresses as their bytes, because a file stores keys twice. */
function pack(value: string): Uint8Array | string {
  const packed = packHash(value);
  return typeof packed === "string" ? packAddress(value) : packed;
}

/** The index entries of an event: at most five keys. */
export function indexKeys(event: NewEvent, sequence: number): KvKey[] {
  const bySubject = SUBJECTS.flatMap((field) => {
    const value = event[field];
    return value === undefined ? [] : [[...subjectIndex(field, value, event.type), sequence]];
  });
  return [[...typeIndex(event.type), sequence], ...bySubject];
}

/** `UndecodedEvent` without `raw`. That is stored in pieces, because it may exceed one value. */
export const undecodedKey = (id: string): KvKey => ["undecoded", ...placeOf(id)];
export const rawKey = (id: string): KvKey => ["undecoded_raw", ...placeOf(id)];

/** By epoch and place in the epoch. */
function placeOf(id: string): number[] {
  const parts = parseEventId(id);
  if (parts === undefined) throw new Error(`not an event id: ${JSON.stringify(id)}`);
  return [heightOf(parts.epoch, parts.ledger), parts.order, parts.index];
}

/** `Subscription`. */
export const subscriptionKey = (id: string): KvKey => ["subscription", id];
export const subscriptionOfKey = (keyId: string, id: string): KvKey => ["subscription_by_key", keyId, id];
/** The number of subscriptions of a key. Checked, so that two simultaneous inserts do not exceed the bound. */
export const subscriptionCountKey = (keyId: string): KvKey => ["subscription_count", keyId];
/** Every change of a subscription raises it. So one check of it replaces a check of each. */
export const SUBSCRIPTIONS_VERSION: KvKey = ["subscriptions_version"];
export const SECRETS_CHECK: KvKey = ["secrets_check"];
/** `true`, from the deletion until nothing of the subscription is left. */
export const deletedKey = (subscriptionId: string): KvKey => ["deleted_subscription", subscriptionId];

/** `ConsumerEntry`, as long as its subscription exists. Near the leases, because both are written together. */
export const consumerKey = (subscriptionId: string): KvKey => ["progress", subscriptionId];
export interface ConsumerEntry {
  progress: Progress;
  replay: Replay | null;
  /** The number of ended deliveries that have an entry. */
  kept: { rejected: number; dead: number };
  /** The ordinal of the last attempt. */
  ordinal: number;
  /** No stored attempt is older. Null: there is none. */
  attemptsSinceMs: number | null;
  /** The latest `attemptedAtMs` of a failed delivery. Absent: there was none. */
  attemptedUntilMs?: number;
}
/** Raised by every write of a consumer that does not write its partition's lease. So one check replaces a check of each. */
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
/** `attemptedAtMs` of deliveries that wait for a retry. */
export const dueKey = (subscriptionId: string, dueAtMs: number, sequence: number): KvKey => [
  "due",
  subscriptionId,
  dueAtMs,
  sequence,
];
/** `Attempt`, by its ordinal modulo the size of the ring. */
export const attemptKey = (subscriptionId: string, slot: number): KvKey => ["attempt", subscriptionId, slot];

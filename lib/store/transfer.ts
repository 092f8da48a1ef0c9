import { Buffer } from "node:buffer";
import type { LoggedEvent, UndecodedEvent } from "./event.ts";
import type { IntentName, NonceOut } from "./intent.ts";
import { type BucketState, type KeyRecord, StoreError, type WatcherState } from "./store.ts";
import type { Submission } from "./submission.ts";
import type { KeptTransactionIntent, TransactionIntentName } from "./transaction_intent.ts";
import type { Attempt, FailedDelivery, Reader } from "./webhook.ts";

/** What a store holds, kind by kind, as it goes from one store into another of any driver: plain JSON. */
export interface TransferRecords {
  log: LogStart;
  keys: KeyRecord;
  buckets: BucketState;
  submissions: Submission;
  intents: KeptIntent;
  transactionIntents: TransactionIntentRecord;
  nonces: KeptNonce;
  registers: KeptRegister;
  events: LoggedEvent;
  undecoded: UndecodedEvent;
  subscriptions: Reader & { counters: DeliveryCounters };
  failedDeliveries: FailedDelivery & { subscriptionId: string };
  attempts: Attempt & { subscriptionId: string };
  store: StoreHead;
}
export type TransferKind = keyof TransferRecords;

/** Where the log begins, so that what is appended next gets the sequence that it has in the other store. */
export interface LogStart {
  /** `LogBounds`. */
  forgotten: number;
  /** The greatest height of all events forgotten, and the sequence that reached it; null: none was. */
  highest: { height: number; sequence: number } | null;
}

/** An intent that nobody is at: a claim does not go with it, for whoever has it stands still. */
export interface KeptIntent extends IntentName {
  id: string;
  term: number;
  request: string;
  /** Or last claimed. */
  completedAtMs: number;
  /** Null: nothing came of it yet. */
  result: string | null;
}

/** An intent of a transaction. */
export interface TransactionIntentRecord extends TransactionIntentName, Omit<KeptTransactionIntent, "envelope"> {
  /** Base64. */
  envelope: string;
}

export function transactionIntentRecord(
  { keyId, key }: TransactionIntentName,
  { envelope, ...kept }: KeptTransactionIntent,
): TransactionIntentRecord {
  return { keyId, key, ...kept, envelope: Buffer.from(envelope).toString("base64") };
}

export function keptTransactionIntent(
  { keyId, key, envelope, ...kept }: TransactionIntentRecord,
): { name: TransactionIntentName; kept: KeptTransactionIntent } {
  return { name: { keyId, key }, kept: { ...kept, envelope: new Uint8Array(Buffer.from(envelope, "base64")) } };
}

export interface KeptNonce extends NonceOut {
  deviceHash: string;
  agent: string;
}

export interface KeptRegister {
  name: string;
  value: unknown;
  untilMs: number;
}

/** What a store counts of a subscription beside its `Progress`. */
export interface DeliveryCounters {
  /** How many of those that ended are kept. */
  rejectedKept: number;
  deadKept: number;
  /** Ordinal of the newest attempt. */
  attempts: number;
}

/** What a store has one of. */
export interface StoreHead {
  id: string;
  /** Null each: there is none. */
  network: string | null;
  secretsCheck: string | null;
  watcher: WatcherState | null;
}

/** Kinds that can be read only here; the others are read as everybody does. */
export interface HiddenRecords extends
  Pick<
    TransferRecords,
    "log" | "submissions" | "intents" | "transactionIntents" | "nonces" | "registers" | "failedDeliveries" | "store"
  > {
  counters: DeliveryCounters & { subscriptionId: string };
}
export type HiddenKind = keyof HiddenRecords;

/** The place of a record among those of its kind. */
export type TransferKey = (string | number)[];

/** How each kind is told apart. Of `log` and `store` there is one record. */
export const KEY_OF: { [Kind in TransferKind]: (record: TransferRecords[Kind]) => TransferKey } = {
  log: () => [0],
  keys: ({ id }) => [id],
  buckets: ({ keyId }) => [keyId],
  submissions: ({ hash }) => [hash],
  intents: ({ keyId, kind, key }) => [keyId, kind, key],
  transactionIntents: ({ keyId, key }) => [keyId, key],
  nonces: ({ deviceHash, agent }) => [deviceHash, agent],
  registers: ({ name }) => [name],
  events: ({ sequence }) => [sequence],
  undecoded: ({ id }) => [id],
  subscriptions: ({ subscription }) => [subscription.id],
  failedDeliveries: ({ sequence, subscriptionId }) => [sequence, subscriptionId],
  attempts: ({ subscriptionId, ordinal }) => [subscriptionId, ordinal],
  store: () => [0],
};

/** In the order in which they are written: what is counted or pointed at comes first. */
export const TRANSFER_KINDS = Object.keys(KEY_OF) as TransferKind[];

/** The register of a store that is being filled: there until all of it is there, and alike. It is not copied itself. */
export const COPY_REGISTER = "copy";

/** How far a copy into this store has come: `COPY_REGISTER`. */
export interface CopyMark {
  /** Of the one that is at it: another run takes it over, and fences off the one before. */
  run: string;
  from: { id: string; location: string };
  /** A hash of what changes in a store that is served: of the source, when the copy was begun. */
  state: string;
  /** All kinds before this one are written, and of this one all up to `after`. */
  kind: TransferKind;
  after: TransferKey;
}

/** One page of records that are to be written: 1 to 500. */
export type TransferStep = {
  [Kind in TransferKind]: { run: string; kind: Kind; records: TransferRecords[Kind][] };
}[TransferKind];

/** Everything that a store holds, out of it and into an empty one: for copies, which are whole or not served from. */
export interface TransferStore {
  /** Records of a kind after this key (`[]`: from the first on), at most `limit` (≤ 500), in an order of the store's own. */
  read<Kind extends HiddenKind>(
    page: { kind: Kind; after: TransferKey; limit: number },
  ): Promise<HiddenRecords[Kind][]>;
  /**
   * Adds records that are not there yet, kinds in the order of `TRANSFER_KINDS`. In one commit or in several, each with the
   * mark moved on behind what it writes: what a killed copy has written is not written again. Rejects with `fenced` unless
   * the mark is this run's.
   */
  write(step: TransferStep): Promise<void>;
}

/**
 * The mark behind these records, which are of the step's kind.
 * @throws StoreError `fenced` when the mark is not that of this run
 */
export function markBehind(
  location: string,
  mark: CopyMark | undefined,
  { run, kind, records }: { run: string; kind: TransferKind; records: readonly unknown[] },
): CopyMark {
  if (mark?.run !== run) throw new StoreError("fenced", `${location}: another copy into this store has taken over`);
  const keyOf = KEY_OF[kind] as (record: unknown) => TransferKey;
  return { ...mark, kind, after: keyOf(records.at(-1)) };
}

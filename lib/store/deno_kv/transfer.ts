import { Buffer } from "node:buffer";
import type { Kv, KvAtomic, KvEntry, KvEntryMaybe, KvKey } from "../../runtime/kv.ts";
import type { NounDriver } from "../checked_store.ts";
import type { IntentName, NonceOut } from "../intent.ts";
import { StoreError } from "../store_error.ts";
import type { Submission } from "../submission.ts";
import type { TransactionIntentName } from "../transaction_intent.ts";
import {
  COPY_REGISTER,
  type CopyMark,
  type HiddenKind,
  type HiddenRecords,
  keptTransactionIntent,
  type LogStart,
  markBehind,
  type StoreHead,
  transactionIntentRecord,
  type TransferKey,
  type TransferRecords,
  type TransferStep,
  type TransferStore,
} from "../transfer.ts";
import { ATTEMPTS_KEPT, type FailedDelivery } from "../webhook.ts";
import { bucketKey } from "./buckets.ts";
import { EMPTY_LOG, putLogged, putUndecoded, writeRawParts } from "./events.ts";
import { writeFailed } from "./failed_deliveries.ts";
import { collect, commit, type DenoKvContext, getAll, next, present } from "./database.ts";
import { keyOf, usedOf } from "./keys.ts";
import { readPieces, toPieces } from "./large_values.ts";
import { jsonBytes, keptValue, type RegisterEntry, registerKey, REGISTERS } from "./registers.ts";
import {
  attemptKey,
  FORGOTTEN,
  INTENT_COUNT,
  intentCountKey,
  type IntentEntry,
  intentKey,
  intentTimeKey,
  LOG,
  type LogEntry,
  NETWORK,
  nonceKey,
  nonceTimeKey,
  reachedKey,
  type ReaderEntry,
  readerKey,
  SECRETS_CHECK,
  STORE_ID,
  submissionKey,
  submissionTimeKey,
  subscriptionCountKey,
  subscriptionKey,
  subscriptionOfKey,
  type TransactionIntentEntry,
  WATCHER,
} from "./schema.ts";
import { listWithoutOutcome } from "./submissions.ts";
import { putTransactionIntent, readTransactionIntent } from "./transaction_intents.ts";

type Readers = { [Kind in HiddenKind]: (after: TransferKey, limit: number) => Promise<HiddenRecords[Kind][]> };
/** Ten writes a record at most. */
type Writers = {
  [Kind in keyof TransferRecords]: (atomic: KvAtomic, records: TransferRecords[Kind][]) => void | Promise<void>;
};

const RECORDS_PER_COMMIT = 50;
/** Of JSON: what is written has twice as many at most. */
const BYTES_PER_COMMIT = 300_000;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Everything that the database holds, out of it and into it. */
export function denoKvTransfer({ kv, location }: DenoKvContext): NounDriver<TransferStore> {
  const readers = hiddenReaders(kv);
  const writers = recordWriters(kv);

  /** Of undecoded events the raw parts have been written: they are seen with the rest. */
  async function writeSome(step: TransferStep): Promise<void> {
    const stored = await kv.get<RegisterEntry>(registerKey(COPY_REGISTER));
    const mark = stored.value === null ? undefined : keptValue(stored.value) as CopyMark;
    const value = jsonBytes(markBehind(location, mark, step));
    const atomic = kv.atomic().check(stored).set(stored.key, { ...stored.value, value });
    await (writers[step.kind] as (atomic: KvAtomic, records: unknown[]) => void | Promise<void>)(atomic, step.records);
    if (await commit(atomic) !== undefined) return;
    throw new StoreError("fenced", `${location}: another copy into this store has taken over`);
  }

  return {
    read: ({ kind, after, limit }) => readers[kind](after, limit),
    async write(step) {
      if (step.kind === "undecoded") await writeRawParts(kv, step.records);
      for (const records of partsOf(step)) await writeSome({ ...step, records } as TransferStep);
    },
  };
}

/** What has room in one commit each. */
function partsOf({ kind, records }: TransferStep): unknown[][] {
  const parts: unknown[][] = [];
  let bytes = 0;
  for (const record of records) {
    const size = kind === "undecoded" ? 0 : Buffer.byteLength(JSON.stringify(record));
    bytes += size;
    const isFull = parts.length === 0 || parts.at(-1)!.length === RECORDS_PER_COMMIT || bytes > BYTES_PER_COMMIT;
    if (isFull) [bytes] = [size, parts.push([])];
    parts.at(-1)!.push(record);
  }
  return parts;
}

function hiddenReaders(kv: Kv): Readers {
  /** Entries under this prefix after the key's last parts. */
  async function page<T>(prefix: KvKey, after: TransferKey, limit: number): Promise<KvEntry<T>[]> {
    const range = after.length === 0 ? { prefix } : { prefix, start: [...prefix, ...behind(after)] };
    return await collect(kv.list<T>(range, { limit, batchSize: Math.min(limit, 500) }));
  }

  async function logStart(): Promise<LogStart> {
    const forgotten = (await kv.get<number>(FORGOTTEN)).value ?? 0;
    let highest: LogStart["highest"] = null;
    for await (const { key, value: sequence } of kv.list<number>({ prefix: ["reached"] })) {
      if (sequence > forgotten) break;
      highest = { height: key[1] as number, sequence };
    }
    return { forgotten, highest };
  }

  async function head(): Promise<StoreHead> {
    const [id, network, check] = await kv.getMany<[string, string, string]>([STORE_ID, NETWORK, SECRETS_CHECK]);
    const watcher = await readPieces<NonNullable<StoreHead["watcher"]>>(kv, WATCHER) ?? null;
    return { id: id.value!, network: network.value, secretsCheck: check.value, watcher };
  }

  return {
    log: async (after) => after.length > 0 ? [] : [await logStart()],
    store: async (after) => after.length > 0 ? [] : [await head()],
    submissions: async (after, limit) =>
      (await page<Submission>(["submission"], after, limit)).map(({ value }) => value),
    intents: async (after, limit) =>
      (await page<IntentEntry>(["intent"], after, limit)).map(({ key, value }) => {
        const { id, term, request, completedAtMs, result } = value;
        const [, keyId, kind, name] = key as [string, string, IntentName["kind"], string];
        const kept = { keyId, kind, key: name, id, term, request, completedAtMs };
        return { ...kept, result: result === null ? null : decoder.decode(result) };
      }),
    transactionIntents: async (after, limit) => {
      const found = await page<TransactionIntentEntry>(["transaction_intent"], after, limit);
      const read = await Promise.all(found.map(async ({ key: [, keyId, key] }) => {
        const name = { keyId, key } as TransactionIntentName;
        const { kept } = await readTransactionIntent(kv, name);
        return kept && transactionIntentRecord(name, kept);
      }));
      return read.filter((one) => one !== undefined);
    },
    nonces: async (after, limit) =>
      (await page<NonceOut>(["nonce_out"], after, limit)).map(({ key, value }) => {
        const [, deviceHash, agent] = key as [string, string, string];
        return { deviceHash, agent, ...value };
      }),
    registers: async (after, limit) =>
      (await page<RegisterEntry>(REGISTERS, after, limit)).map(({ key, value }) => {
        return { name: key[1] as string, ...value, value: keptValue(value) };
      }),
    async failedDeliveries(after, limit) {
      for (let from = after;;) {
        const found = await page<FailedDelivery>(["failed"], from, limit);
        const ids = [...new Set(found.map(({ key }) => key[2] as string))];
        const readers = await getAll<ReaderEntry>(kv, ids.map(readerKey));
        const gone = new Set(ids.filter((_, n) => readers[n]!.value === null));
        const kept = found.map(({ key, value }) => ({ subscriptionId: key[2] as string, ...value }))
          .filter(({ subscriptionId }) => !gone.has(subscriptionId));
        // What deleted subscriptions have left is not kept of anything.
        if (kept.length > 0 || found.length < limit) return kept;
        from = found.at(-1)!.key.slice(1) as TransferKey;
      }
    },
    counters: async (after, limit) =>
      (await page<ReaderEntry>(["progress"], after, limit)).map(({ key, value: { kept, ordinal } }) => ({
        subscriptionId: key[1] as string,
        rejectedKept: kept.rejected,
        deadKept: kept.dead,
        attempts: ordinal,
      })),
  };
}

/** The first place after this key. */
function behind(key: TransferKey): KvKey {
  const last = key.at(-1);
  return typeof last === "string" ? [...key.slice(0, -1), next(last)] : [...key, new Uint8Array()];
}

function recordWriters(kv: Kv): Writers {
  /** Adds to a number that is kept under each of these keys. */
  async function countMore(atomic: KvAtomic, keys: KvKey[]): Promise<void> {
    const times = new Map<string, { key: KvKey; more: number }>();
    for (const key of keys) {
      const name = JSON.stringify(key);
      times.set(name, { key, more: (times.get(name)?.more ?? 0) + 1 });
    }
    const counted = [...times.values()];
    const stored: KvEntryMaybe<number>[] = await getAll<number>(kv, counted.map(({ key }) => key));
    stored.forEach(({ key, value }, n) => atomic.set(key, (value ?? 0) + counted[n]!.more));
  }

  return {
    log(atomic, [start]) {
      const { forgotten, highest } = start!;
      atomic.set(FORGOTTEN, forgotten).set(LOG, { last: forgotten, highest: highest?.height ?? EMPTY_LOG.highest });
      if (highest !== null) atomic.set(reachedKey(highest.height), highest.sequence);
    },
    keys(atomic, keys) {
      for (const { lastUsedAt, ...key } of keys) {
        atomic.set(keyOf(key.id), key);
        if (lastUsedAt !== undefined) atomic.set(usedOf(key.id), lastUsedAt);
      }
    },
    buckets(atomic, buckets) {
      for (const { keyId, ...bucket } of buckets) atomic.set(bucketKey(keyId), bucket);
    },
    submissions(atomic, submissions) {
      for (const submission of submissions) {
        const { hash, submittedAtMs, outcome } = submission;
        atomic.set(submissionKey(hash), submission).set(submissionTimeKey(submittedAtMs, hash), true);
        if (outcome === undefined) listWithoutOutcome(atomic, submission);
      }
    },
    intents(atomic, intents) {
      for (const { keyId, kind, key, result, ...intent } of intents) {
        const name = { keyId, kind, key };
        const entry: IntentEntry = { ...intent, claim: null, result: result === null ? null : encoder.encode(result) };
        atomic.set(intentKey(name), entry).set(intentTimeKey(intent.completedAtMs, name), name)
          .sum(intentCountKey(keyId), 1n).sum(INTENT_COUNT, 1n);
      }
    },
    transactionIntents(atomic, records) {
      for (const record of records) {
        const { name, kept } = keptTransactionIntent(record);
        putTransactionIntent(atomic, name, kept).sum(intentCountKey(name.keyId), 1n).sum(INTENT_COUNT, 1n);
      }
    },
    nonces(atomic, nonces) {
      for (const { deviceHash, agent, ...out } of nonces) {
        atomic.set(nonceKey(deviceHash, agent), out)
          .set(nonceTimeKey(out.untilMs, deviceHash, agent), [deviceHash, agent]);
      }
    },
    registers(atomic, registers) {
      for (const { name, value, untilMs } of registers) {
        atomic.set(registerKey(name), { value: jsonBytes(value), untilMs });
      }
    },
    async events(atomic, events) {
      putLogged(atomic, (await kv.get<LogEntry>(LOG)).value ?? EMPTY_LOG, events);
    },
    undecoded(atomic, events) {
      for (const event of events) putUndecoded(atomic, event);
    },
    async subscriptions(atomic, readers) {
      for (const { subscription, progress, counters, replay } of readers) {
        const { id, keyId } = subscription;
        const { rejectedKept: rejected, deadKept: dead, attempts: ordinal } = counters;
        // The true time is found when attempts are forgotten for the first time.
        const attemptsSinceMs = ordinal === 0 ? null : 0;
        const reader: ReaderEntry = { progress, replay, kept: { rejected, dead }, ordinal, attemptsSinceMs };
        atomic.set(subscriptionKey(id), present(subscription)).set(subscriptionOfKey(keyId, id), true)
          .set(readerKey(id), reader);
      }
      await countMore(atomic, readers.map(({ subscription }) => subscriptionCountKey(subscription.keyId)));
    },
    failedDeliveries(atomic, failures) {
      for (const { subscriptionId, ...failed } of failures) {
        writeFailed(atomic, subscriptionId, new Map(), new Map([[failed.sequence, failed]]));
      }
    },
    attempts(atomic, attempts) {
      for (const { subscriptionId, ...attempt } of attempts) {
        atomic.set(attemptKey(subscriptionId, attempt.ordinal % ATTEMPTS_KEPT), attempt);
      }
    },
    store(atomic, [head]) {
      const { id, network, secretsCheck, watcher } = head!;
      atomic.set(STORE_ID, id);
      if (network !== null) atomic.set(NETWORK, network);
      if (secretsCheck !== null) atomic.set(SECRETS_CHECK, secretsCheck);
      if (watcher !== null) { for (const { key, value } of toPieces(WATCHER, watcher)) atomic.set(key, value); }
    },
  };
}

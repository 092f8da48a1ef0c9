import { Buffer } from "node:buffer";
import type { Kv, KvAtomic, KvEntryMaybe } from "../../runtime/kv.ts";
import type { NounDriver } from "../checked_store.ts";
import type {
  KeptTransactionIntent,
  TransactionIntent,
  TransactionIntentName,
  TransactionIntentStore,
} from "../transaction_intent.ts";
import { collect, commit, type DenoKvContext, getAll, MAX_CHECKS, pageAfter, present } from "./database.ts";
import {
  INTENT_COUNT,
  intentCountKey,
  type TransactionIntentEntry,
  transactionIntentKey,
  transactionIntentPieceKey,
  transactionIntentTimeKey,
} from "./schema.ts";

/** A value takes 64 KiB, so three pieces hold the longest envelope. */
const PIECE_BYTES = 50_000;
const MORE_PIECES = [1, 2];

/** Counters have 64 bits and wrap around, so adding this subtracts one. */
const MINUS_ONE = 2n ** 64n - 1n;

/** An intent with its entry, for a check. Undefined: there is none. All as of one moment. */
async function readTransactionIntent(
  kv: Kv,
  name: TransactionIntentName,
): Promise<{ entry: KvEntryMaybe<TransactionIntentEntry>; kept: KeptTransactionIntent | undefined }> {
  const [entry, ...pieces] = await kv.getMany<[TransactionIntentEntry, Uint8Array, Uint8Array]>([
    transactionIntentKey(name),
    transactionIntentPieceKey(name, 1),
    transactionIntentPieceKey(name, 2),
  ]);
  if (entry.value === null) return { entry, kept: undefined };
  const { bytes, ...intent } = entry.value;
  const envelope = new Uint8Array(Buffer.concat([bytes, ...pieces.flatMap(({ value }) => value ?? [])]));
  return { entry, kept: { ...intent, envelope } };
}

/** Writes an intent, and its entry by time. */
function putTransactionIntent(
  atomic: KvAtomic,
  name: TransactionIntentName,
  { envelope, ...intent }: KeptTransactionIntent,
): KvAtomic {
  const pieceOf = (piece: number) => envelope.slice(piece * PIECE_BYTES, (piece + 1) * PIECE_BYTES);
  atomic.set(transactionIntentKey(name), { ...present(intent), bytes: pieceOf(0) })
    .set(transactionIntentTimeKey(intent.usedAtMs, name), name);
  for (const piece of MORE_PIECES) {
    const bytes = pieceOf(piece);
    if (bytes.length > 0) atomic.set(transactionIntentPieceKey(name, piece), bytes);
    else atomic.delete(transactionIntentPieceKey(name, piece));
  }
  return atomic;
}

/** Intents of transactions. `prune` deletes at most so many last used before this time. */
export function denoKvTransactionIntents(
  { kv, now, retry }: DenoKvContext,
  isFull: (keyId: string, mostOfKey: number, mostInAll: number) => Promise<boolean>,
): NounDriver<TransactionIntentStore> & { prune(usedBeforeMs: number, limit: number): Promise<number> } {
  function remove(atomic: KvAtomic, name: TransactionIntentName, usedAtMs: number): void {
    atomic.delete(transactionIntentKey(name)).delete(transactionIntentTimeKey(usedAtMs, name))
      .sum(intentCountKey(name.keyId), MINUS_ONE).sum(INTENT_COUNT, MINUS_ONE);
    for (const piece of MORE_PIECES) atomic.delete(transactionIntentPieceKey(name, piece));
  }

  return {
    transaction: async (name) => (await readTransactionIntent(kv, name)).kept,
    async transactions({ after, limit }) {
      const behind = after === undefined ? [] : [after.keyId, after.key];
      const found = await pageAfter<TransactionIntentEntry>(kv, ["transaction_intent"], behind, limit);
      const read = await Promise.all(found.map(async ({ key: [, keyId, key] }) => {
        const name = { keyId, key } as TransactionIntentName;
        const { kept } = await readTransactionIntent(kv, name);
        return kept === undefined ? [] : [{ ...name, ...kept }];
      }));
      return read.flat();
    },
    async setTransaction({ name: { keyId, key }, seen, version, intent, mostOfKey, mostInAll, atMs = 0 }) {
      const name = { keyId, key };
      const entry = await kv.get<TransactionIntentEntry>(transactionIntentKey(name));
      const before = entry.value;
      if (before?.version !== seen) return "changed";
      const atomic = kv.atomic().check(entry);
      if (before === null) {
        if (await isFull(keyId, mostOfKey, mostInAll)) return "full";
        atomic.sum(intentCountKey(keyId), 1n).sum(INTENT_COUNT, 1n);
      } else atomic.delete(transactionIntentTimeKey(before.usedAtMs, name));
      const usedAtMs = Math.max(before?.usedAtMs ?? 0, now(), atMs);
      putTransactionIntent(atomic, name, { ...onlyIntent(intent), version, usedAtMs });
      return await commit(atomic) ? "written" : "changed";
    },
    async prune(usedBeforeMs, limit) {
      const range = { prefix: ["transaction_intent_by_time"], end: ["transaction_intent_by_time", usedBeforeMs] };
      const old = await collect(kv.list<TransactionIntentName>(range, { limit, batchSize: Math.min(500, limit) }));
      for (let from = 0; from < old.length; from += MAX_CHECKS) {
        const names = old.slice(from, from + MAX_CHECKS).map(({ value }) => value);
        await retry(async () => {
          const entries = await getAll<TransactionIntentEntry>(kv, names.map(transactionIntentKey));
          const atomic = kv.atomic();
          entries.forEach((entry, index) => {
            // A caller has used the intent meanwhile.
            if (entry.value === null || entry.value.usedAtMs >= usedBeforeMs) return;
            remove(atomic.check(entry), names[index]!, entry.value.usedAtMs);
          });
          return await commit(atomic) ? { done: undefined } : undefined;
        });
      }
      return old.length;
    },
  };
}

/** The intent without version and time, which a former read may have added. */
function onlyIntent(intent: TransactionIntent): TransactionIntent {
  const { request, sequence, envelope, warning, isRejected, envelopes, outcome } = intent;
  return { request, sequence, envelope, warning, isRejected, envelopes, outcome };
}

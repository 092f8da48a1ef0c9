import { Buffer } from "node:buffer";
import type { Kv, KvAtomic, KvEntryMaybe, KvU64 } from "../../runtime/kv.ts";
import type { NounDriver } from "../checked_store.ts";
import type { IntentName, IntentStore, IntentVerdict, KeptIntent, NewIntent } from "../intent.ts";
import { collect, commit, type DenoKvContext, getAll, MAX_CHECKS, pageAfter } from "./database.ts";
import { INTENT_COUNT, intentCountKey, type IntentEntry, intentKey, intentPieceKey, intentTimeKey } from "./schema.ts";

/** The most that `prune` deletes at a call. */
const PRUNED_AT_A_CALL = 500;
/** Counters have 64 bits and wrap around, so adding this subtracts one. */
const MINUS_ONE = 2n ** 64n - 1n;
/** A value takes 64 KiB, so three pieces hold the longest envelope. */
const PIECE_BYTES = 50_000;
const PIECES = [0, 1, 2];

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** An intent with its entry, for a check. All as of one moment. */
async function readIntent(
  kv: Kv,
  name: IntentName,
): Promise<{ entry: KvEntryMaybe<IntentEntry>; kept: KeptIntent | undefined }> {
  const [entry, ...pieces] = await kv.getMany<[IntentEntry, Uint8Array, Uint8Array, Uint8Array]>([
    intentKey(name),
    ...PIECES.map((piece) => intentPieceKey(name, piece)),
  ] as never);
  if (entry.value === null) return { entry, kept: undefined };
  const { state, hasEnvelope, ...kept } = entry.value;
  const intent = { ...kept, state: JSON.parse(decoder.decode(state)) };
  if (!hasEnvelope) return { entry, kept: intent };
  const envelope = new Uint8Array(Buffer.concat(pieces.flatMap(({ value }) => value ?? [])));
  return { entry, kept: { ...intent, envelope } };
}

/** Adds the write of an intent to a commit that checks it. At most eight writes. */
export async function putIntent(
  { kv, now }: Pick<DenoKvContext, "kv" | "now">,
  atomic: KvAtomic,
  { name, seen, version, intent: { request, state, envelope }, mostOfKey, mostInAll, atMs = 0 }: NewIntent & {
    seen?: string;
  },
): Promise<IntentVerdict> {
  const entry = await kv.get<IntentEntry>(intentKey(name));
  const before = entry.value;
  if (before?.version !== seen) return "changed";
  if (before === null) {
    const [ofKey, inAll] = await kv.getMany<[KvU64, KvU64]>([intentCountKey(name.keyId), INTENT_COUNT]);
    if ((ofKey.value?.value ?? 0n) >= mostOfKey || (inAll.value?.value ?? 0n) >= mostInAll) return "full";
    atomic.sum(intentCountKey(name.keyId), 1n).sum(INTENT_COUNT, 1n);
  } else atomic.delete(intentTimeKey(before.usedAtMs, name));
  const usedAtMs = Math.max(before?.usedAtMs ?? 0, now(), atMs);
  const kept: IntentEntry = {
    ...{ version, request, usedAtMs },
    state: encoder.encode(JSON.stringify(state)),
    hasEnvelope: envelope !== undefined,
  };
  atomic.check(entry).set(entry.key, kept).set(intentTimeKey(usedAtMs, name), name);
  for (const piece of PIECES) {
    const bytes = envelope?.slice(piece * PIECE_BYTES, (piece + 1) * PIECE_BYTES);
    if (bytes !== undefined && bytes.length > 0) atomic.set(intentPieceKey(name, piece), bytes);
    else if (before !== null) atomic.delete(intentPieceKey(name, piece));
  }
  return "written";
}

/** Intents. */
export function denoKvIntents(context: DenoKvContext): NounDriver<IntentStore> {
  const { kv, retry } = context;

  function remove(atomic: KvAtomic, name: IntentName, { usedAtMs }: IntentEntry): void {
    atomic.delete(intentKey(name)).delete(intentTimeKey(usedAtMs, name))
      .sum(intentCountKey(name.keyId), MINUS_ONE).sum(INTENT_COUNT, MINUS_ONE);
    for (const piece of PIECES) atomic.delete(intentPieceKey(name, piece));
  }

  return {
    get: async (name) => (await readIntent(kv, name)).kept,
    async set({ name: { keyId, kind, key }, ...step }) {
      const atomic = kv.atomic();
      const verdict = await putIntent(context, atomic, { name: { keyId, kind, key }, ...step });
      if (verdict !== "written") return verdict;
      return await commit(atomic) ? "written" : "changed";
    },
    async list({ after, limit }) {
      const behind = after === undefined ? [] : [after.keyId, after.kind, after.key];
      const found = await pageAfter<IntentEntry>(kv, ["intent"], behind, limit);
      const read = await Promise.all(found.map(async ({ key: [, keyId, kind, key] }) => {
        const name = { keyId, kind, key } as IntentName;
        const { kept } = await readIntent(kv, name);
        return kept === undefined ? [] : [{ ...name, ...kept }];
      }));
      return read.flat();
    },
    async prune(usedBeforeMs) {
      const range = { prefix: ["intent_by_time"], end: ["intent_by_time", usedBeforeMs] };
      const old = await collect(kv.list<IntentName>(range, { limit: PRUNED_AT_A_CALL, batchSize: PRUNED_AT_A_CALL }));
      for (let from = 0; from < old.length; from += MAX_CHECKS) {
        const names = old.slice(from, from + MAX_CHECKS).map(({ value }) => value);
        await retry(async () => {
          const entries = await getAll<IntentEntry>(kv, names.map(intentKey));
          const atomic = kv.atomic();
          entries.forEach((entry, index) => {
            // A caller has used the intent meanwhile.
            if (entry.value === null || entry.value.usedAtMs >= usedBeforeMs) return;
            remove(atomic.check(entry), names[index]!, entry.value);
          });
          return await commit(atomic) ? { done: undefined } : undefined;
        });
      }
      return old.length;
    },
  };
}

import type { Kv, KvAtomic, KvEntryMaybe, KvU64 } from "../../runtime/kv.ts";
import type { NounDriver } from "../checked_store.ts";
import {
  claimedForMs,
  type Intent,
  type IntentClaim,
  intentFenced,
  type IntentName,
  type IntentStore,
  nonceAfter,
  type NonceOut,
} from "../intent.ts";
import { collect, commit, type DenoKvContext, getAll, MAX_CHECKS, pageAfter } from "./database.ts";
import {
  INTENT_COUNT,
  intentCountKey,
  type IntentEntry,
  intentKey,
  intentTimeKey,
  nonceKey,
  nonceTimeKey,
} from "./schema.ts";
import { denoKvTransactionIntents } from "./transaction_intents.ts";

/** The most that `prune` deletes at a call. */
const PRUNED_AT_A_CALL = 500;
/** Counters have 64 bits and wrap around, so adding this subtracts one. */
const MINUS_ONE = 2n ** 64n - 1n;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The entry, if the claim is its newest. */
export async function claimedEntry(
  kv: Kv,
  claim: IntentClaim,
): Promise<KvEntryMaybe<IntentEntry> & { value: IntentEntry } | undefined> {
  const entry = await kv.get<IntentEntry>(intentKey(claim));
  const { value } = entry;
  return value !== null && value.id === claim.id && value.term === claim.term ? { ...entry, value } : undefined;
}

/** Intents, and issued nonces. */
export function denoKvIntents(context: DenoKvContext): NounDriver<IntentStore> {
  const { kv, location, handle, now, isHeld, retry } = context;

  /** A former holder of the store is dead, so its claim is over. */
  function remainingMs({ claim }: IntentEntry): number {
    return claim === null || (isHeld() && claim.handle !== handle) ? 0 : claimedForMs(claim, now());
  }

  function toIntent(entry: IntentEntry): Intent {
    const { id, term, request, result } = entry;
    const intent: Intent = { id, term, request, claimedForMs: remainingMs(entry) };
    return result === null ? intent : { ...intent, result: decoder.decode(result) };
  }

  async function isFull(keyId: string, mostOfKey: number, mostInAll: number): Promise<boolean> {
    const [ofKey, inAll] = await kv.getMany<[KvU64, KvU64]>([intentCountKey(keyId), INTENT_COUNT]);
    return (ofKey.value?.value ?? 0n) >= mostOfKey || (inAll.value?.value ?? 0n) >= mostInAll;
  }

  function remove(atomic: KvAtomic, name: IntentName, { completedAtMs }: IntentEntry): KvAtomic {
    return atomic.delete(intentKey(name)).delete(intentTimeKey(completedAtMs, name))
      .sum(intentCountKey(name.keyId), MINUS_ONE).sum(INTENT_COUNT, MINUS_ONE);
  }

  async function pruneIntents(usedBeforeMs: number): Promise<number> {
    const range = { prefix: ["intent_by_time"], end: ["intent_by_time", usedBeforeMs] };
    const old = await collect(kv.list<IntentName>(range, { limit: PRUNED_AT_A_CALL, batchSize: PRUNED_AT_A_CALL }));
    for (let from = 0; from < old.length; from += MAX_CHECKS) {
      const names = old.slice(from, from + MAX_CHECKS).map(({ value }) => value);
      await retry(async () => {
        const entries = await getAll<IntentEntry>(kv, names.map(intentKey));
        const atomic = kv.atomic();
        entries.forEach((entry, index) => {
          // A caller has used the intent meanwhile.
          if (entry.value === null || entry.value.completedAtMs >= usedBeforeMs) return;
          remove(atomic.check(entry), names[index]!, entry.value);
        });
        return await commit(atomic) ? { done: undefined } : undefined;
      });
    }
    return old.length;
  }

  async function pruneNonces(limit: number): Promise<number> {
    const range = { prefix: ["nonce_out_by_time"], end: ["nonce_out_by_time", now() + 1] };
    const old = await collect(kv.list<[string, string]>(range, { limit, batchSize: PRUNED_AT_A_CALL }));
    for (const { key, value: [deviceHash, agent] } of old) {
      const entry = await kv.get<NonceOut>(nonceKey(deviceHash, agent));
      const atomic = kv.atomic().delete(key);
      if (entry.value !== null && entry.value.untilMs <= now()) atomic.check(entry).delete(entry.key);
      await commit(atomic);
    }
    return old.length;
  }

  const { prune: pruneTransactions, ...transactions } = denoKvTransactionIntents(context, isFull);

  return {
    ...transactions,
    async get(name) {
      const { value } = await kv.get<IntentEntry>(intentKey(name));
      return value === null ? undefined : toIntent(value);
    },
    async claim({ name, seen, id, request, durationMs, mostOfKey, mostInAll, atMs = 0 }) {
      const entry = await kv.get<IntentEntry>(intentKey(name));
      const before = entry.value;
      const claim = { handle, untilMs: now() + durationMs, durationMs };
      const completedAtMs = Math.max(before?.completedAtMs ?? 0, now(), atMs);
      const atomic = kv.atomic().check(entry).set(intentTimeKey(completedAtMs, name), name);
      if (before === null) {
        if (seen !== undefined) return "taken";
        if (await isFull(name.keyId, mostOfKey, mostInAll)) return "full";
        const made: IntentEntry = { id, term: 1, request, claim, completedAtMs, result: null };
        atomic.set(entry.key, made).sum(intentCountKey(name.keyId), 1n).sum(INTENT_COUNT, 1n);
        return await commit(atomic) ? { ...name, id, term: 1 } : "taken";
      }
      if (before.id !== seen?.id || before.term !== seen.term || remainingMs(before) > 0) return "taken";
      const term = before.term + 1;
      if (before.completedAtMs !== completedAtMs) atomic.delete(intentTimeKey(before.completedAtMs, name));
      atomic.set(entry.key, { ...before, term, claim, completedAtMs });
      return await commit(atomic) ? { ...name, id: before.id, term } : "taken";
    },
    complete: (claim, { request, result, atMs = 0 }) =>
      retry(async () => {
        const entry = await claimedEntry(kv, claim);
        if (entry === undefined) throw intentFenced(location, claim);
        const { id, term, completedAtMs } = entry.value;
        const { keyId, kind, key } = claim;
        const name = { keyId, kind, key };
        const done: IntentEntry = {
          id,
          term: term + 1,
          request,
          claim: null,
          completedAtMs: Math.max(completedAtMs, now(), atMs),
          result: encoder.encode(result),
        };
        const atomic = kv.atomic().check(entry).set(entry.key, done).delete(intentTimeKey(completedAtMs, name))
          .set(intentTimeKey(done.completedAtMs, name), name);
        return await commit(atomic) ? { done: undefined } : undefined;
      }),
    release: (claim) =>
      retry(async () => {
        const entry = await claimedEntry(kv, claim);
        if (entry === undefined) return { done: undefined };
        const atomic = kv.atomic().check(entry);
        if (entry.value.result === null) remove(atomic, claim, entry.value);
        else atomic.set(entry.key, { ...entry.value, claim: null });
        return await commit(atomic) ? { done: undefined } : undefined;
      }),
    nextNonce: ({ deviceHash, agent, used, validForMs }) =>
      retry(async () => {
        const entry = await kv.get<NonceOut>(nonceKey(deviceHash, agent));
        const nonce = nonceAfter(used, entry.value ?? undefined, now());
        const out: NonceOut = { nonce, untilMs: now() + validForMs };
        const atomic = kv.atomic().check(entry).set(entry.key, out);
        if (entry.value !== null) atomic.delete(nonceTimeKey(entry.value.untilMs, deviceHash, agent));
        atomic.set(nonceTimeKey(out.untilMs, deviceHash, agent), [deviceHash, agent]);
        return await commit(atomic) ? { done: nonce } : undefined;
      }),
    async list({ after, limit }) {
      const behind = after === undefined ? [] : [after.keyId, after.kind, after.key];
      const found = await pageAfter<IntentEntry>(kv, ["intent"], behind, limit);
      return found.map(({ key: [, keyId, kind, key], value: { id, request, result } }) => ({
        ...{ keyId, kind, key } as IntentName,
        ...(result === null ? { id, request } : { id, request, result: decoder.decode(result) }),
      }));
    },
    async nonces({ after, limit }) {
      const behind = after === undefined ? [] : [after.deviceHash, after.agent];
      const found = await pageAfter<NonceOut>(kv, ["nonce_out"], behind, limit);
      return found.map(({ key: [, deviceHash, agent], value }) => {
        return { deviceHash: deviceHash as string, agent: agent as string, ...value };
      });
    },
    async prune(usedBeforeMs) {
      let gone = await pruneIntents(usedBeforeMs);
      if (gone < PRUNED_AT_A_CALL) gone += await pruneTransactions(usedBeforeMs, PRUNED_AT_A_CALL - gone);
      return gone === PRUNED_AT_A_CALL ? gone : gone + await pruneNonces(PRUNED_AT_A_CALL - gone);
    },
  };
}

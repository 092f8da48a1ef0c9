import type { NounDriver } from "../checked_store.ts";
import type { GivenReference, ReferenceRows } from "../reference.ts";
import { chunks, collect, commit, type DenoKvContext, pageAfter } from "./database.ts";
import { REFERENCE, referenceKey, referenceTimeKey } from "./schema.ts";

const PRUNED_AT_A_CALL = 500;
/** Two deletes each: below the 1 000 writes of one commit. */
const PRUNED_PER_COMMIT = 250;

/** References of prepared transactions. */
export function denoKvReferences({ kv, retry }: DenoKvContext): NounDriver<ReferenceRows> {
  const record = (given: GivenReference) =>
    retry(async () => {
      const entry = await kv.get<GivenReference>(referenceKey(given));
      if (entry.value !== null) return { done: undefined };
      const atomic = kv.atomic().check(entry).set(entry.key, given).set(referenceTimeKey(given), true);
      return await commit(atomic) ? { done: undefined } : undefined;
    });

  const ofHash = async (hash: string) =>
    (await collect(kv.list<GivenReference>({ prefix: [...REFERENCE, hash] }))).map(({ value }) => value);

  return {
    record,
    async copy(hash, bumpHash) {
      for (const given of await ofHash(hash)) await record({ ...given, hash: bumpHash });
    },
    isAny: async () => (await collect(kv.list({ prefix: REFERENCE }, { limit: 1 }))).length > 0,
    find: async (hashes) => (await Promise.all(hashes.map(ofHash))).flat(),
    list: async ({ after, limit }) =>
      (await pageAfter<GivenReference>(kv, REFERENCE, after === undefined ? [] : [after.hash, after.keyId], limit))
        .map(({ value }) => value),
    async prune(preparedBeforeMs) {
      const range = { prefix: ["reference_by_time"], end: ["reference_by_time", preparedBeforeMs] };
      const old = await collect(kv.list(range, { limit: PRUNED_AT_A_CALL, batchSize: PRUNED_AT_A_CALL }));
      for (const some of chunks(old, PRUNED_PER_COMMIT)) {
        const atomic = kv.atomic();
        for (const { key } of some) {
          const [, , hash, keyId] = key as [string, number, string, string];
          atomic.delete(key).delete(referenceKey({ hash, keyId }));
        }
        await commit(atomic);
      }
      return old.length;
    },
  };
}

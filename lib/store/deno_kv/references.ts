import type { KvAtomic, KvKey } from "../../runtime/kv.ts";
import type { NounDriver } from "../checked_store.ts";
import type { GivenReference, ReferenceRows } from "../reference.ts";
import { afterKey, chunks, collect, commit, type DenoKvContext, getAll } from "./database.ts";
import { REFERENCE, REFERENCE_BY_TIME, referenceKey, referenceTextKey, referenceTimeKey } from "./schema.ts";

const PRUNED_AT_A_CALL = 500;
/** Three deletes each: below the 1 000 writes and the 80 KiB of keys of one commit. */
const DELETED_PER_COMMIT = 100;

/** References of prepared transactions. */
export function denoKvReferences({ kv, retry }: DenoKvContext): NounDriver<ReferenceRows> {
  const record = (given: GivenReference) =>
    retry(async () => {
      const entry = await kv.get<GivenReference>(referenceKey(given));
      if (entry.value !== null) return { done: undefined };
      const atomic = kv.atomic().check(entry).set(entry.key, given);
      for (const key of indexKeys(given)) atomic.set(key, true);
      return await commit(atomic) ? { done: undefined } : undefined;
    });

  const ofHash = async (hash: string) =>
    (await collect(kv.list<GivenReference>({ prefix: [...REFERENCE, hash] }))).map(({ value }) => value);

  /** The records that these keys of an index name. A record that is deleted meanwhile is missing. */
  const namedBy = async (keys: KvKey[], keyOf: (key: KvKey) => KvKey) =>
    (await getAll<GivenReference>(kv, keys.map(keyOf))).flatMap(({ value }) => value ?? []);

  async function remove(records: GivenReference[]): Promise<void> {
    for (const some of chunks(records, DELETED_PER_COMMIT)) {
      const atomic: KvAtomic = kv.atomic();
      for (const given of some) for (const key of [referenceKey(given), ...indexKeys(given)]) atomic.delete(key);
      await commit(atomic);
    }
  }

  /** The records from before a time, in its order. */
  async function byTime({ after, preparedBeforeMs, limit }: Parameters<ReferenceRows["list"]>[0]) {
    const start = after === undefined ? REFERENCE_BY_TIME : afterKey(referenceTimeKey(after));
    const end = [...REFERENCE_BY_TIME, preparedBeforeMs ?? Infinity];
    const keys = (await collect(kv.list({ start, end }, { limit, batchSize: Math.min(limit, 500) })))
      .map(({ key }) => key);
    return await namedBy(keys, ([, , hash, keyId]) => [...REFERENCE, hash!, keyId!]);
  }

  return {
    record,
    async copy(hash, bumpHash) {
      for (const given of await ofHash(hash)) await record({ ...given, hash: bumpHash });
    },
    isAny: async () => (await collect(kv.list({ prefix: REFERENCE }, { limit: 1 }))).length > 0,
    find: async (hashes) => (await Promise.all(hashes.map(ofHash))).flat(),
    async ofReference({ keyId, reference, order, after, limit }) {
      const prefix = [...referenceTextKey(reference), keyId];
      const place = after && [...prefix, after.preparedAtMs, after.hash];
      const range = place === undefined
        ? { prefix }
        : order === "asc"
        ? { prefix, start: afterKey(place) }
        : { prefix, end: place };
      const options = { limit, batchSize: Math.min(limit, 500), reverse: order === "desc" };
      const keys = (await collect(kv.list(range, options))).map(({ key }) => key);
      return await namedBy(keys, (key) => referenceKey({ hash: key[4] as string, keyId }));
    },
    async keysOf({ reference, limit }) {
      const prefix = referenceTextKey(reference);
      const keys: string[] = [];
      while (keys.length < limit) {
        const start = keys.length === 0 ? undefined : [...prefix, keys.at(-1)!, Infinity];
        const [next] = await collect(kv.list({ prefix, start }, { limit: 1 }));
        if (next === undefined) break;
        keys.push(next.key[2] as string);
      }
      return keys;
    },
    list: byTime,
    delete: remove,
    async prune(preparedBeforeMs) {
      const old = await byTime({ preparedBeforeMs, limit: PRUNED_AT_A_CALL });
      await remove(old);
      return old.length;
    },
  };
}

function indexKeys(given: GivenReference): KvKey[] {
  const { keyId, reference, preparedAtMs, hash } = given;
  return [referenceTimeKey(given), [...referenceTextKey(reference), keyId, preparedAtMs, hash]];
}

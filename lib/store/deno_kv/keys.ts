import type { KvU64 } from "../../runtime/kv.ts";
import type { NounDriver } from "../checked_store.ts";
import { aheadOf } from "../key_use.ts";
import { type KeyRecord, type KeyStore, StoreError } from "../store.ts";
import { bucketKey } from "./buckets.ts";
import { collect, commit, type DenoKvContext, getAll, next, present } from "./database.ts";
import { listOfKey, startRemoval } from "./subscriptions.ts";

/** `lastUsedAt` has an entry of its own, so that recording uses never conflicts with a change of the record. */
type KeyEntry = Omit<KeyRecord, "lastUsedAt">;

/** At most five writes each. */
const SUBSCRIPTIONS_PER_COMMIT = 100;

const VERSION = ["keys_version"];
/** Written with every record of uses. A check of it excludes other records in between. */
const USES = ["keys_used"];
export const keyOf = (id: string) => ["key", id];
const usedOf = (id: string) => ["key_used", id];

/** API keys. */
export function denoKvKeys({ kv, location, retry }: DenoKvContext): NounDriver<KeyStore> {
  /** Removes up to 100 subscriptions of a key, and the key with the last of them. */
  async function removeSome(id: string): Promise<{ done: { wasThere: boolean; isLast: boolean } } | undefined> {
    const removal = await startRemoval(kv);
    const entry = await kv.get<KeyEntry>(keyOf(id));
    const subscriptions = await listOfKey({ kv, retry }, id, "", SUBSCRIPTIONS_PER_COMMIT + 1);
    const isLast = subscriptions.length <= SUBSCRIPTIONS_PER_COMMIT;
    const wasThere = entry.value !== null;
    await removal.remove(subscriptions.slice(0, SUBSCRIPTIONS_PER_COMMIT));
    if (isLast) {
      removal.atomic.check(entry).delete(keyOf(id)).delete(usedOf(id)).delete(bucketKey(id));
      if (wasThere) removal.atomic.sum(VERSION, 1n);
    }
    return await commit(removal.atomic) ? { done: { wasThere, isLast } } : undefined;
  }

  return {
    async insert({ lastUsedAt, ...key }) {
      const atomic = kv.atomic().check({ key: keyOf(key.id), versionstamp: null })
        .set(keyOf(key.id), present(key)).sum(VERSION, 1n);
      if (lastUsedAt === undefined) atomic.delete(usedOf(key.id));
      else atomic.set(usedOf(key.id), lastUsedAt);
      if (!await commit(atomic)) {
        throw new StoreError("exists", `${location} holds a key with the id "${key.id}" already`);
      }
    },
    async get(id) {
      const [key, used] = await kv.getMany<[KeyEntry, string]>([keyOf(id), usedOf(id)]);
      return key.value === null ? undefined : toKey(key.value, used.value);
    },
    async list({ after, limit }) {
      const range = { prefix: ["key"], start: keyOf(next(after ?? "")) };
      const keys = (await collect(kv.list<KeyEntry>(range, { limit, batchSize: 500 }))).map(({ value }) => value);
      const used = await getAll<string>(kv, keys.map(({ id }) => usedOf(id)));
      return keys.map((key, index) => toKey(key, used[index]!.value));
    },
    setDisabled: (id, disabled) =>
      retry(async () => {
        const [entry, used] = await kv.getMany<[KeyEntry, string]>([keyOf(id), usedOf(id)]);
        if (entry.value === null) return { done: undefined };
        const key = { ...entry.value, disabled };
        const atomic = kv.atomic().check(entry).set(keyOf(id), key).sum(VERSION, 1n);
        return await commit(atomic) ? { done: toKey(key, used.value) } : undefined;
      }),
    async delete(id) {
      for (;;) {
        const { wasThere, isLast } = await retry(() => removeSome(id));
        if (isLast) return wasThere;
      }
    },
    touch: (uses) =>
      retry(async () => {
        const versions = await kv.getMany([VERSION, USES]);
        const stored = await getAll<KeyEntry>(kv, uses.map(({ id }) => keyOf(id)));
        const noted = await getAll<string>(kv, uses.map(({ id }) => usedOf(id)));
        const latest = new Map<string, string>();
        uses.forEach(({ id, lastUsedAt }, index) => {
          const before = latest.get(id) ?? noted[index]!.value;
          const isPassed = before !== null && lastUsedAt <= before && before <= aheadOf(lastUsedAt);
          if (stored[index]!.value === null || isPassed) return;
          latest.set(id, lastUsedAt);
        });
        if (latest.size === 0) return { done: undefined };
        const atomic = kv.atomic().check(...versions).set(USES, true);
        for (const [id, lastUsedAt] of latest) atomic.set(usedOf(id), lastUsedAt);
        return await commit(atomic) ? { done: undefined } : undefined;
      }),
    version: async () => Number((await kv.get<KvU64>(VERSION)).value?.value ?? 0n),
  };
}

function toKey(key: KeyEntry, lastUsedAt: string | null): KeyRecord {
  return lastUsedAt === null ? { ...key } : { ...key, lastUsedAt };
}

import type { KvU64 } from "../../runtime/kv.ts";
import { checkBatch, checkLimit } from "../bounds.ts";
import type { DenoKvContext } from "./store.ts";
import { bucketKey } from "./buckets.ts";
import { commit, getAll, next, present } from "./io.ts";
import { listOfKey, startRemoval } from "./subscriptions.ts";
import { type KeyRecord, type Store, StoreError } from "../store.ts";

type KeyMethods = Pick<
  Store,
  "insertKey" | "getKey" | "listKeys" | "setKeyDisabled" | "deleteKey" | "touchKeys" | "keysVersion"
>;

/** `lastUsedAt` has an entry of its own, so that noting it in bulk never gets in the way of a change to the record. */
type KeyEntry = Omit<KeyRecord, "lastUsedAt">;

/** At most nine writes each. */
const SUBSCRIPTIONS_PER_COMMIT = 100;

const VERSION = ["keys_version"];
const keyOf = (id: string) => ["key", id];
const usedOf = (id: string) => ["key_used", id];

/** API keys. */
export function denoKvKeys({ kv, location, run, retry }: DenoKvContext): KeyMethods {
  /** Removes up to 100 subscriptions of a key, and with the last of them the key. */
  async function removeSome(id: string): Promise<{ done: { wasThere: boolean; isLast: boolean } } | undefined> {
    const removal = await startRemoval(kv);
    const entry = await kv.get<KeyEntry>(keyOf(id));
    const subscriptions = await listOfKey(kv, id, "", SUBSCRIPTIONS_PER_COMMIT + 1);
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
    insertKey: ({ lastUsedAt, ...key }) =>
      run(async () => {
        const atomic = kv.atomic().check({ key: keyOf(key.id), versionstamp: null })
          .set(keyOf(key.id), present(key)).sum(VERSION, 1n);
        if (lastUsedAt === undefined) atomic.delete(usedOf(key.id));
        else atomic.set(usedOf(key.id), lastUsedAt);
        if (!await commit(atomic)) {
          throw new StoreError("exists", `${location} holds a key with the id "${key.id}" already`);
        }
      }),
    getKey: (id) =>
      run(async () => {
        const [key, used] = await kv.getMany<[KeyEntry, string]>([keyOf(id), usedOf(id)]);
        return key.value === null ? undefined : toKey(key.value, used.value);
      }),
    listKeys: ({ after, limit }) =>
      run(async () => {
        checkLimit(limit, 1_000);
        const keys: KeyEntry[] = [];
        const range = { prefix: ["key"], start: keyOf(next(after ?? "")) };
        for await (const { value } of kv.list<KeyEntry>(range, { limit })) keys.push(value);
        const used = await getAll<string>(kv, keys.map(({ id }) => usedOf(id)));
        return keys.map((key, index) => toKey(key, used[index]!.value));
      }),
    setKeyDisabled: (id, disabled) =>
      run(() =>
        retry(async () => {
          const [entry, used] = await kv.getMany<[KeyEntry, string]>([keyOf(id), usedOf(id)]);
          if (entry.value === null) return { done: undefined };
          const key = { ...entry.value, disabled };
          const atomic = kv.atomic().check(entry).set(keyOf(id), key).sum(VERSION, 1n);
          return await commit(atomic) ? { done: toKey(key, used.value) } : undefined;
        })
      ),
    deleteKey: (id) =>
      run(async () => {
        for (;;) {
          const { wasThere, isLast } = await retry(() => removeSome(id));
          if (isLast) return wasThere;
        }
      }),
    touchKeys: (uses) =>
      run(async () => {
        checkBatch(uses, 500);
        const held = await getAll<KeyEntry>(kv, uses.map(({ id }) => keyOf(id)));
        const atomic = kv.atomic();
        uses.forEach(({ id, lastUsedAt }, index) => {
          // One that is deleted meanwhile leaves a note behind, which `insertKey` overwrites.
          if (held[index]!.value !== null) atomic.set(usedOf(id), lastUsedAt);
        });
        await commit(atomic);
      }),
    keysVersion: () => run(async () => Number((await kv.get<KvU64>(VERSION)).value?.value ?? 0n)),
  };
}

function toKey(key: KeyEntry, lastUsedAt: string | null): KeyRecord {
  return lastUsedAt === null ? { ...key } : { ...key, lastUsedAt };
}

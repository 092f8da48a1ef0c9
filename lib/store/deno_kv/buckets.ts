import type { KvEntry } from "../../runtime/kv.ts";
import { checkBatch } from "../bounds.ts";
import type { DenoKvContext } from "./store.ts";
import { commit, MAX_CHECKS } from "./io.ts";
import type { BucketState, Store } from "../store.ts";

type BucketMethods = Pick<Store, "loadBuckets" | "saveBuckets" | "pruneBuckets">;

type BucketEntry = Omit<BucketState, "keyId">;

const PREFIX = ["bucket"];

/** Where the bucket of this key is kept. */
export function bucketKey(keyId: string): string[] {
  return [...PREFIX, keyId];
}

/** Token buckets at rest. */
export function denoKvBuckets({ kv, run }: DenoKvContext): BucketMethods {
  /** Deletes those that were not written since they were read. */
  async function removeUnchanged(entries: KvEntry<BucketEntry>[]): Promise<void> {
    const atomic = kv.atomic().check(...entries);
    for (const { key } of entries) atomic.delete(key);
    if (await commit(atomic) || entries.length === 1) return;
    for (const entry of entries) await removeUnchanged([entry]);
  }

  return {
    loadBuckets: () =>
      run(async () => {
        const buckets: BucketState[] = [];
        for await (const { key, value } of kv.list<BucketEntry>({ prefix: PREFIX }, { batchSize: 500 })) {
          buckets.push({ keyId: key[1] as string, ...value });
        }
        return buckets;
      }),
    saveBuckets: (buckets) =>
      run(async () => {
        checkBatch(buckets, 500);
        const atomic = kv.atomic();
        for (const { keyId, tokens, updatedAtMs } of buckets) atomic.set(bucketKey(keyId), { tokens, updatedAtMs });
        await commit(atomic);
      }),
    pruneBuckets: (updatedBeforeMs) =>
      run(async () => {
        let old: KvEntry<BucketEntry>[] = [];
        for await (const entry of kv.list<BucketEntry>({ prefix: PREFIX }, { batchSize: 500 })) {
          if (entry.value.updatedAtMs < updatedBeforeMs) old.push(entry);
          if (old.length < MAX_CHECKS) continue;
          await removeUnchanged(old);
          old = [];
        }
        if (old.length > 0) await removeUnchanged(old);
      }),
  };
}

import type { KvEntry } from "../../runtime/kv.ts";
import type { NounDriver } from "../checked_store.ts";
import type { BucketState, BucketStore } from "../store.ts";
import { commit, type DenoKvContext, MAX_CHECKS } from "./database.ts";

type BucketEntry = Omit<BucketState, "keyId">;

const PREFIX = ["bucket"];

/** The key of a bucket. */
export function bucketKey(keyId: string): string[] {
  return [...PREFIX, keyId];
}

/** Token buckets at rest. */
export function denoKvBuckets({ kv }: DenoKvContext): NounDriver<BucketStore> {
  /** Deletes the buckets that are unchanged since they were read. */
  async function removeUnchanged(entries: KvEntry<BucketEntry>[]): Promise<void> {
    const atomic = kv.atomic().check(...entries);
    for (const { key } of entries) atomic.delete(key);
    if (await commit(atomic) || entries.length === 1) return;
    for (const entry of entries) await removeUnchanged([entry]);
  }

  return {
    async load() {
      const buckets: BucketState[] = [];
      for await (const { key, value } of kv.list<BucketEntry>({ prefix: PREFIX }, { batchSize: 500 })) {
        buckets.push({ keyId: key[1] as string, ...value });
      }
      return buckets;
    },
    async save(buckets) {
      const atomic = kv.atomic();
      for (const { keyId, tokens, updatedAtMs } of buckets) atomic.set(bucketKey(keyId), { tokens, updatedAtMs });
      await commit(atomic);
    },
    async prune(updatedBeforeMs) {
      let old: KvEntry<BucketEntry>[] = [];
      for await (const entry of kv.list<BucketEntry>({ prefix: PREFIX }, { batchSize: 500 })) {
        if (entry.value.updatedAtMs < updatedBeforeMs) old.push(entry);
        if (old.length < MAX_CHECKS) continue;
        await removeUnchanged(old);
        old = [];
      }
      if (old.length > 0) await removeUnchanged(old);
    },
  };
}

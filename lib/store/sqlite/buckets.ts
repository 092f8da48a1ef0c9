import { checkBatch } from "../bounds.ts";
import type { SqliteContext } from "./store.ts";
import type { Store } from "../store.ts";

type BucketMethods = Pick<Store, "loadBuckets" | "saveBuckets" | "pruneBuckets">;

/** Rows looked at in one step of pruning, so that the event loop is never held for long. */
const PRUNE_STEP = 2_000;

/** Token buckets at rest. */
export function sqliteBuckets({ database, run }: SqliteContext): BucketMethods {
  const load = database.prepare("SELECT key_id, tokens, updated_at_ms FROM bucket");
  const save = database.prepare("INSERT OR REPLACE INTO bucket (key_id, tokens, updated_at_ms) VALUES (?, ?, ?)");
  const stepEnd = database.prepare(
    "SELECT max(key_id) AS key_id FROM (SELECT key_id FROM bucket WHERE key_id > ? ORDER BY key_id LIMIT ?)",
  );
  const prune = database.prepare("DELETE FROM bucket WHERE key_id > ? AND key_id <= ? AND updated_at_ms < ?");

  return {
    loadBuckets: () =>
      run(() =>
        load.all().map((row) => ({
          keyId: row.key_id as string,
          tokens: row.tokens as number,
          updatedAtMs: row.updated_at_ms as number,
        }))
      ),
    saveBuckets: (buckets) =>
      run(() => {
        checkBatch(buckets, 500);
        database.transaction(() => {
          for (const { keyId, tokens, updatedAtMs } of buckets) save.run(keyId, tokens, updatedAtMs);
        });
      }),
    async pruneBuckets(updatedBeforeMs) {
      for (let after: string | null = ""; after !== null;) {
        const start: string = after;
        after = await run(() => {
          const end = stepEnd.get(start, PRUNE_STEP)!.key_id as string | null;
          if (end !== null) prune.run(start, end, updatedBeforeMs);
          return end;
        });
        await new Promise<void>((resolve) => setTimeout(resolve, 0));
      }
    },
  };
}

import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { NounDriver } from "../checked_store.ts";
import type { BucketState, BucketStore } from "../store.ts";
import type { SqliteContext } from "./database.ts";

/** Rows looked at in one step of pruning, so that the event loop is never held for long. */
const PRUNE_STEP = 2_000;

/** Token buckets at rest. */
export function sqliteBuckets({ database }: SqliteContext): NounDriver<BucketStore> {
  const load = database.prepare<BucketState>(
    `SELECT key_id AS keyId, tokens, updated_at_ms AS updatedAtMs FROM bucket`,
  );
  const save = database.prepare("INSERT OR REPLACE INTO bucket (key_id, tokens, updated_at_ms) VALUES (?, ?, ?)");
  const stepEnd = database.prepare<{ key_id: string | null }>(
    "SELECT max(key_id) AS key_id FROM (SELECT key_id FROM bucket WHERE key_id > ? ORDER BY key_id LIMIT ?)",
  );
  const prune = database.prepare("DELETE FROM bucket WHERE key_id > ? AND key_id <= ? AND updated_at_ms < ?");

  return {
    load: () => load.all(),
    save: (buckets) =>
      database.transaction(() => {
        for (const { keyId, tokens, updatedAtMs } of buckets) save.run(keyId, tokens, updatedAtMs);
      }),
    async prune(updatedBeforeMs) {
      for (let after = "";;) {
        const end = stepEnd.get(after, PRUNE_STEP)!.key_id;
        if (end === null) return;
        prune.run(after, end, updatedBeforeMs);
        after = end;
        await yieldToOthers();
      }
    },
  };
}

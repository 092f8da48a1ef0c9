import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { NounDriver } from "../checked_store.ts";
import type { BucketState, BucketStore } from "../store.ts";
import type { SqlContext } from "./database.ts";

/** One step of pruning reads so many rows. On SQLite the event loop stands still for a step. */
const PRUNE_STEP = 2_000;

/** Token buckets at rest. */
export function sqlBuckets({ sql }: SqlContext): NounDriver<BucketStore> {
  const table = `${sql.prefix}bucket`;
  const load = sql.prepare<BucketState>(
    `SELECT key_id AS "keyId", tokens, updated_at_ms AS "updatedAtMs" FROM ${table}`,
  );
  // In the order of the keys, so that two gateways do not wait for each other. SQLite needs the WHERE before ON CONFLICT.
  const save = sql.prepare(
    `INSERT INTO ${table} (key_id, tokens, updated_at_ms) SELECT key_id, tokens, updated_at_ms
    FROM ${sql.given("key_id text, tokens double precision, updated_at_ms bigint")} WHERE true ORDER BY key_id
    ON CONFLICT (key_id) DO UPDATE SET tokens = excluded.tokens, updated_at_ms = excluded.updated_at_ms`,
  );
  const stepEnd = sql.prepare<{ key_id: string | null }>(
    `SELECT max(key_id) AS key_id FROM
      (SELECT key_id FROM ${table} WHERE key_id > $1 ORDER BY key_id LIMIT ${PRUNE_STEP}) AS step`,
  );
  const prune = sql.prepare(`DELETE FROM ${table} WHERE key_id > $1 AND key_id <= $2 AND updated_at_ms < $3`);

  return {
    load: async () => [...await sql.read(load())],
    async save(buckets) {
      const byKey = new Map(buckets.map(({ keyId, tokens, updatedAtMs }) => {
        return [keyId, { key_id: keyId, tokens, updated_at_ms: updatedAtMs }];
      }));
      await sql.write(save([...byKey.values()]));
    },
    async prune(updatedBeforeMs) {
      for (let after = "";;) {
        const end = (await sql.read(stepEnd(after)))[0]!.key_id;
        if (end === null) return;
        await sql.write(prune(after, end, updatedBeforeMs));
        after = end;
        await yieldToOthers();
      }
    },
  };
}

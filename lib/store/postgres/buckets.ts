import type { NounDriver } from "../checked_store.ts";
import type { BucketState, BucketStore } from "../store.ts";
import type { PostgresContext } from "./database.ts";

/** Token buckets at rest. */
export function postgresBuckets({ database, prefix }: PostgresContext): NounDriver<BucketStore> {
  return {
    load: () =>
      database.read<BucketState>(
        `SELECT key_id AS "keyId", tokens, updated_at_ms AS "updatedAtMs" FROM ${prefix}bucket`,
      ).then((rows) => [...rows]),
    async save(buckets) {
      // The last word on a key counts; in one order, so that two gateways do not wait for each other.
      const byKey = new Map(buckets.map(({ keyId, tokens, updatedAtMs }) => [keyId, { keyId, tokens, updatedAtMs }]));
      await database.write(
        `INSERT INTO ${prefix}bucket (key_id, tokens, updated_at_ms)
        SELECT "keyId", tokens, "updatedAtMs"
        FROM json_to_recordset($1::text::json) AS given ("keyId" text, tokens double precision, "updatedAtMs" bigint)
        ORDER BY "keyId"
        ON CONFLICT (key_id) DO UPDATE SET tokens = excluded.tokens, updated_at_ms = excluded.updated_at_ms`,
        [[...byKey.values()]],
      );
    },
    async prune(updatedBeforeMs) {
      await database.write(`DELETE FROM ${prefix}bucket WHERE updated_at_ms < $1`, [updatedBeforeMs]);
    },
  };
}

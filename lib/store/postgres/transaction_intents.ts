import type { NounDriver } from "../checked_store.ts";
import { sqlTransactionIntents, TRANSACTION_INTENT_COLUMNS } from "../sql/transaction_intents.ts";
import type { TransactionIntentStore } from "../transaction_intent.ts";
import { NOW_MS, type PostgresContext, type Queries } from "./database.ts";

/** Intents of transactions. `prune` deletes at most `limit` that were last used before this time, within a transaction. */
export function postgresTransactionIntents(context: PostgresContext):
  & NounDriver<TransactionIntentStore>
  & { prune(queries: Queries, usedBeforeMs: number, limit: number): Promise<{ key_id: string }[]> } {
  const { database, prefix } = context;
  const table = `${prefix}transaction_intent`;
  const { hasRoom, countMade } = intentCounts(prefix);
  const make = `
    WITH room AS (SELECT 1 WHERE ${hasRoom("$13", "$14")}),
    made AS (
      INSERT INTO ${table} (key_id, key, ${TRANSACTION_INTENT_COLUMNS})
      SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, greatest(${NOW_MS}, $12::bigint) FROM room
      ON CONFLICT (key_id, key) DO NOTHING RETURNING key
    ), counted AS (${countMade("$15")})
    SELECT (SELECT count(*) FROM made) AS made, (SELECT count(*) FROM room) AS room,
      (SELECT count(*) FROM ${table} WHERE key_id = $1 AND key = $2) AS there`;

  return {
    ...sqlTransactionIntents(context, async ({ values, atMs, mostOfKey, mostInAll }) => {
      const [found] = await database.write<{ made: number; room: number; there: number }>(
        make,
        [...values, atMs, mostOfKey, mostInAll, anyShard()],
      );
      if (found!.made > 0) return "written";
      return found!.room > 0 || found!.there > 0 ? "changed" : "full";
    }),
    prune: (queries, usedBeforeMs, limit) =>
      queries.write<{ key_id: string }>(
        // PostgreSQL checks the outer condition again for an intent that was used meanwhile, but not the inner SELECT.
        `DELETE FROM ${table} WHERE (key_id, key) IN (SELECT key_id, key FROM ${table}
          WHERE used_at_ms < $1 ORDER BY used_at_ms LIMIT $2)
          AND used_at_ms < $1 RETURNING key_id`,
        [usedBeforeMs, limit],
      ),
  };
}

/** The count of all intents is split over so many rows of the key '', so that creations seldom wait for one another. */
const SHARDS = 16;
export const anyShard = () => Math.floor(Math.random() * SHARDS);

/** How the intents of each API key, and of all keys (key_id ''), are counted. `$1` is the API key in every piece of SQL. */
export function intentCounts(prefix: string) {
  const countOf = (key: string) =>
    `(SELECT coalesce(sum(intents), 0) FROM ${prefix}intent_count WHERE key_id = ${key})`;
  return {
    /** The condition for one more. */
    hasRoom: (mostOfKey: string, mostInAll: string) =>
      `${countOf("$1")} < ${mostOfKey}::bigint AND ${countOf("''")} < ${mostInAll}::bigint`,
    /** The statement that counts the row of `made`, if there is one. */
    countMade: (shard: string) => `
      INSERT INTO ${prefix}intent_count AS kept (key_id, shard, intents)
      SELECT key_id, shard, 1 FROM made CROSS JOIN (VALUES ($1::text, 0), ('', ${shard}::integer)) AS rows (key_id, shard)
      ON CONFLICT (key_id, shard) DO UPDATE SET intents = kept.intents + 1`,
    /** Counts deleted intents. */
    async countGone(queries: Queries, gone: { key_id: string }[]): Promise<void> {
      if (gone.length === 0) return;
      const rows = [...Map.groupBy(gone, ({ key_id }) => key_id)].map(([key_id, { length }]) => {
        return { key_id, shard: 0, intents: length };
      });
      rows.push({ key_id: "", shard: anyShard(), intents: gone.length });
      await queries.write(
        `INSERT INTO ${prefix}intent_count AS kept (key_id, shard, intents) SELECT key_id, shard, -intents
        FROM json_to_recordset($1::text::json) AS given (key_id text, shard integer, intents bigint) ORDER BY key_id DESC
        ON CONFLICT (key_id, shard) DO UPDATE SET intents = kept.intents + excluded.intents`,
        [rows],
      );
    },
  };
}

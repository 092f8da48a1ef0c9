import type { Queries } from "./database.ts";

/** All intents are counted in so many rows of the key '', so that who makes one seldom waits for another. */
const SHARDS = 16;
export const anyShard = () => Math.floor(Math.random() * SHARDS);

/** How the intents of each API key, and (key_id '') all, are counted; `$1` is the API key in every piece of SQL. */
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
    /** Counts those that went. */
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

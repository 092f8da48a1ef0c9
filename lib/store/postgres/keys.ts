import type { NounDriver } from "../checked_store.ts";
import { aheadOf } from "../key_use.ts";
import { KEY_COLUMNS, type KeyRow, keyRow, toKey } from "../sql/keys.ts";
import { type KeyStore, StoreError } from "../store.ts";
import { givenRows, type PostgresContext } from "./database.ts";
import { deleteSubscriptions, raiseVersion, versionOf } from "./subscriptions.ts";

/** API keys. Every statement that changes one raises the version in the same commit. */
export function postgresKeys({ database, location, prefix }: PostgresContext): NounDriver<KeyStore> {
  const raise = (rows: string) => raiseVersion(prefix, rows, "keys");

  return {
    async insert(key) {
      const { count } = await database.write(
        `WITH inserted AS (
          INSERT INTO ${prefix}api_key (${KEY_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
          ON CONFLICT (id) DO NOTHING RETURNING id
        ) ${raise("inserted")}`,
        Object.values(keyRow(key)),
      );
      if (count === 0) throw new StoreError("exists", `${location} holds a key with the id "${key.id}" already`);
    },
    async get(id) {
      const [row] = await database.read<KeyRow>(`SELECT ${KEY_COLUMNS} FROM ${prefix}api_key WHERE id = $1`, [id]);
      return row && toKey(row);
    },
    async list({ after = "", limit }) {
      const rows = await database.read<KeyRow>(
        `SELECT ${KEY_COLUMNS} FROM ${prefix}api_key WHERE id > $1 ORDER BY id LIMIT $2`,
        [after, limit],
      );
      return rows.map(toKey);
    },
    async setDisabled(id, disabled) {
      const [row] = await database.write<KeyRow>(
        `WITH changed AS (UPDATE ${prefix}api_key SET disabled = $2 WHERE id = $1 RETURNING ${KEY_COLUMNS}),
          raised AS (${raise("changed")})
        SELECT ${KEY_COLUMNS} FROM changed`,
        [id, disabled],
      );
      return row && toKey(row);
    },
    delete: (id) =>
      database.transaction(async (queries) => {
        const [, , { count }] = await Promise.all([
          queries.write(`DELETE FROM ${prefix}bucket WHERE key_id = $1`, [id]),
          queries.write(deleteSubscriptions(prefix, "key_id = $1"), [id]),
          queries.write(
            `WITH gone AS (DELETE FROM ${prefix}api_key WHERE id = $1 RETURNING id) ${raise("gone")}`,
            [id],
          ),
        ]);
        return count > 0;
      }),
    async touch(uses) {
      await database.write(
        `UPDATE ${prefix}api_key AS kept SET last_used_at = used."lastUsedAt" FROM (
          SELECT id, max("lastUsedAt" COLLATE "C") AS "lastUsedAt", max(ahead COLLATE "C") AS ahead
          FROM ${givenRows('id text, "lastUsedAt" text, ahead text')} GROUP BY id
        ) AS used WHERE kept.id = used.id
          AND (coalesce(kept.last_used_at, '') < used."lastUsedAt" OR kept.last_used_at > used.ahead)`,
        [uses.map(({ id, lastUsedAt }) => ({ id, lastUsedAt, ahead: aheadOf(lastUsedAt) }))],
      );
    },
    version: () => versionOf(database, prefix, "keys"),
  };
}

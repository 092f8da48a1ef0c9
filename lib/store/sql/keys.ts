import type { NounDriver } from "../checked_store.ts";
import { aheadOf } from "../key_use.ts";
import { type KeyRecord, type KeyStore, type Scope, StoreError } from "../store.ts";
import { send, type SqlContext } from "./database.ts";

interface KeyRow {
  id: string;
  name: string;
  hash: string;
  scopes: string;
  rate: number | null;
  /** 0 or 1 in SQLite. */
  disabled: boolean | 0 | 1;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
}

const KEY_COLUMNS = "id, name, hash, scopes, rate, disabled, created_at, expires_at, last_used_at";

function keyRow(key: KeyRecord): KeyRow {
  return {
    id: key.id,
    name: key.name,
    hash: key.hash,
    scopes: key.scopes.join(","),
    rate: key.rate ?? null,
    disabled: key.disabled,
    created_at: key.createdAt,
    expires_at: key.expiresAt ?? null,
    last_used_at: key.lastUsedAt ?? null,
  };
}

function toKey(row: KeyRow): KeyRecord {
  const key: KeyRecord = {
    id: row.id,
    name: row.name,
    hash: row.hash,
    scopes: row.scopes === "" ? [] : row.scopes.split(",") as Scope[],
    disabled: Boolean(row.disabled),
    createdAt: row.created_at,
  };
  if (row.rate !== null) key.rate = row.rate;
  if (row.expires_at !== null) key.expiresAt = row.expires_at;
  if (row.last_used_at !== null) key.lastUsedAt = row.last_used_at;
  return key;
}

/** API keys. Every statement that changes a key raises the version in the same commit. */
export function sqlKeys({ sql, location }: SqlContext): NounDriver<KeyStore> {
  const { prefix, prepare, versions } = sql;
  const table = `${prefix}api_key`;
  const insert = prepare<{ id: string }>(versions.raising(
    "keys",
    `INSERT INTO ${table} (${KEY_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    ON CONFLICT (id) DO NOTHING RETURNING id`,
  ));
  const select = prepare<KeyRow>(`SELECT ${KEY_COLUMNS} FROM ${table} WHERE id = $1`);
  const list = prepare<KeyRow>(`SELECT ${KEY_COLUMNS} FROM ${table} WHERE id > $1 ORDER BY id LIMIT $2`);
  const setDisabled = prepare<KeyRow>(
    versions.raising("keys", `UPDATE ${table} SET disabled = $2 WHERE id = $1 RETURNING ${KEY_COLUMNS}`),
  );
  const removeBucket = prepare(`DELETE FROM ${prefix}bucket WHERE key_id = $1`);
  const removeSubscriptions = prepare(versions.deleteSubscriptions("key_id = $1"));
  const remove = prepare(versions.raising("keys", `DELETE FROM ${table} WHERE id = $1 RETURNING id`));
  const touch = prepare(
    `UPDATE ${table} AS kept SET last_used_at = given.used_at FROM ${sql.given("key_id text, used_at text, ahead text")}
    WHERE kept.id = given.key_id AND (coalesce(kept.last_used_at, '') < given.used_at OR kept.last_used_at > given.ahead)`,
  );
  const version = prepare<{ version: number }>(versions.read("keys"));

  return {
    async insert(key) {
      const { count } = await sql.write(insert(...Object.values(keyRow(key))));
      if (count === 0) throw new StoreError("exists", `${location} holds a key with the id "${key.id}" already`);
    },
    async get(id) {
      const [row] = await sql.read(select(id));
      return row && toKey(row);
    },
    list: async ({ after = "", limit }) => (await sql.read(list(after, limit))).map(toKey),
    async setDisabled(id, disabled) {
      const [row] = await sql.write(setDisabled(id, disabled));
      return row && toKey(row);
    },
    delete: (id) =>
      sql.transaction(function* () {
        const [, , { count }] = yield* send(removeBucket(id), removeSubscriptions(id), remove(id));
        return count > 0;
      }),
    async touch(uses) {
      const newest = new Map<string, string>();
      for (const { id, lastUsedAt } of uses) if (lastUsedAt > (newest.get(id) ?? "")) newest.set(id, lastUsedAt);
      await sql.write(touch([...newest].map(([id, at]) => ({ key_id: id, used_at: at, ahead: aheadOf(at) }))));
    },
    version: async () => (await sql.read(version()))[0]!.version,
  };
}

import type { NounDriver } from "../checked_store.ts";
import { type KeyRecord, type KeyStore, type Scope, StoreError } from "../store.ts";
import type { SqliteContext } from "./store.ts";

interface KeyRow {
  id: string;
  name: string;
  hash: string;
  scopes: string;
  rate: number | null;
  disabled: 0 | 1;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
}

/** API keys. The schema's triggers raise the version. */
export function sqliteKeys({ database, location }: SqliteContext): NounDriver<KeyStore> {
  const insert = database.prepare(`
    INSERT INTO api_key (id, name, hash, scopes, rate, disabled, created_at, expires_at, last_used_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`);
  const select = database.prepare<KeyRow>("SELECT * FROM api_key WHERE id = ?");
  const list = database.prepare<KeyRow>("SELECT * FROM api_key WHERE id > ? ORDER BY id LIMIT ?");
  const setDisabled = database.prepare<KeyRow>("UPDATE api_key SET disabled = ? WHERE id = ? RETURNING *");
  const remove = database.prepare("DELETE FROM api_key WHERE id = ?");
  const removeBucket = database.prepare("DELETE FROM bucket WHERE key_id = ?");
  const removeSubscriptions = database.prepare("DELETE FROM subscription WHERE key_id = ?");
  const touch = database.prepare(
    "UPDATE api_key SET last_used_at = ?1 WHERE id = ?2 AND coalesce(last_used_at, '') < ?1",
  );
  const version = database.prepare<{ version: number }>("SELECT version FROM keys_version");

  return {
    insert(key) {
      const { changes } = insert.run(
        key.id,
        key.name,
        key.hash,
        key.scopes.join(","),
        key.rate ?? null,
        key.disabled ? 1 : 0,
        key.createdAt,
        key.expiresAt ?? null,
        key.lastUsedAt ?? null,
      );
      if (changes === 0) throw new StoreError("exists", `${location} holds a key with the id "${key.id}" already`);
    },
    get: (id) => toKey(select.get(id)),
    list: ({ after = "", limit }) => list.all(after, limit).map((row) => toKey(row)!),
    setDisabled: (id, disabled) => toKey(setDisabled.get(disabled ? 1 : 0, id)),
    delete: (id) =>
      database.transaction(() => {
        removeBucket.run(id);
        removeSubscriptions.run(id);
        return remove.run(id).changes > 0;
      }),
    touch: (uses) =>
      database.transaction(() => {
        for (const { id, lastUsedAt } of uses) touch.run(lastUsedAt, id);
      }),
    version: () => version.get()!.version,
  };
}

function toKey(row: KeyRow | undefined): KeyRecord | undefined {
  if (row === undefined) return undefined;
  const key: KeyRecord = {
    id: row.id,
    name: row.name,
    hash: row.hash,
    scopes: row.scopes === "" ? [] : row.scopes.split(",") as Scope[],
    disabled: row.disabled === 1,
    createdAt: row.created_at,
  };
  if (row.rate !== null) key.rate = row.rate;
  if (row.expires_at !== null) key.expiresAt = row.expires_at;
  if (row.last_used_at !== null) key.lastUsedAt = row.last_used_at;
  return key;
}

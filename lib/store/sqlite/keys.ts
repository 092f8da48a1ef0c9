import type { Row } from "../../runtime/sqlite.ts";
import { checkBatch, checkLimit } from "../bounds.ts";
import type { SqliteContext } from "./store.ts";
import { type KeyRecord, type Scope, type Store, StoreError } from "../store.ts";

type KeyMethods = Pick<
  Store,
  "insertKey" | "getKey" | "listKeys" | "setKeyDisabled" | "deleteKey" | "touchKeys" | "keysVersion"
>;

/** API keys. The schema's triggers raise the version. */
export function sqliteKeys({ database, location, run }: SqliteContext): KeyMethods {
  const insert = database.prepare(`
    INSERT INTO api_key (id, name, hash, scopes, rate, disabled, created_at, expires_at, last_used_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`);
  const select = database.prepare("SELECT * FROM api_key WHERE id = ?");
  const list = database.prepare("SELECT * FROM api_key WHERE id > ? ORDER BY id LIMIT ?");
  const setDisabled = database.prepare("UPDATE api_key SET disabled = ? WHERE id = ? RETURNING *");
  const remove = database.prepare("DELETE FROM api_key WHERE id = ?");
  const removeBucket = database.prepare("DELETE FROM bucket WHERE key_id = ?");
  const removeSubscriptions = database.prepare("DELETE FROM subscription WHERE key_id = ?");
  const touch = database.prepare("UPDATE api_key SET last_used_at = ? WHERE id = ?");
  const version = database.prepare("SELECT version FROM keys_version");

  return {
    insertKey: (key) =>
      run(() => {
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
      }),
    getKey: (id) => run(() => toKey(select.get(id))),
    listKeys: ({ after, limit }) =>
      run(() => {
        checkLimit(limit, 1_000);
        return list.all(after ?? "", limit).map((row) => toKey(row)!);
      }),
    setKeyDisabled: (id, disabled) => run(() => toKey(setDisabled.get(disabled ? 1 : 0, id))),
    deleteKey: (id) =>
      run(() =>
        database.transaction(() => {
          removeBucket.run(id);
          removeSubscriptions.run(id);
          return remove.run(id).changes > 0;
        })
      ),
    touchKeys: (uses) =>
      run(() => {
        checkBatch(uses, 500);
        database.transaction(() => {
          for (const { id, lastUsedAt } of uses) touch.run(lastUsedAt, id);
        });
      }),
    keysVersion: () => run(() => version.get()!.version as number),
  };
}

function toKey(row: Row | undefined): KeyRecord | undefined {
  if (!row) return undefined;
  const key: KeyRecord = {
    id: row.id as string,
    name: row.name as string,
    hash: row.hash as string,
    scopes: row.scopes === "" ? [] : (row.scopes as string).split(",") as Scope[],
    disabled: row.disabled === 1,
    createdAt: row.created_at as string,
  };
  if (row.rate !== null) key.rate = row.rate as number;
  if (row.expires_at !== null) key.expiresAt = row.expires_at as string;
  if (row.last_used_at !== null) key.lastUsedAt = row.last_used_at as string;
  return key;
}

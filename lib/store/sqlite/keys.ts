import type { NounDriver } from "../checked_store.ts";
import { aheadOf } from "../key_use.ts";
import { KEY_COLUMNS, type KeyRow, keyRow, toKey } from "../sql/keys.ts";
import { type KeyStore, StoreError } from "../store.ts";
import { rowValues, type SqliteContext } from "./database.ts";

/** API keys. The schema's triggers raise the version. */
export function sqliteKeys({ database, location }: SqliteContext): NounDriver<KeyStore> {
  const insert = database.prepare(`
    INSERT INTO api_key (${KEY_COLUMNS})
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`);
  const select = database.prepare<KeyRow>("SELECT * FROM api_key WHERE id = ?");
  const list = database.prepare<KeyRow>("SELECT * FROM api_key WHERE id > ? ORDER BY id LIMIT ?");
  const setDisabled = database.prepare<KeyRow>("UPDATE api_key SET disabled = ? WHERE id = ? RETURNING *");
  const remove = database.prepare("DELETE FROM api_key WHERE id = ?");
  const removeBucket = database.prepare("DELETE FROM bucket WHERE key_id = ?");
  const removeSubscriptions = database.prepare("DELETE FROM subscription WHERE key_id = ?");
  const touch = database.prepare(
    "UPDATE api_key SET last_used_at = ?1 WHERE id = ?2 AND (coalesce(last_used_at, '') < ?1 OR last_used_at > ?3)",
  );
  const version = database.prepare<{ version: number }>("SELECT version FROM keys_version");

  return {
    insert(key) {
      const { changes } = insert.run(...rowValues(keyRow(key)));
      if (changes === 0) throw new StoreError("exists", `${location} holds a key with the id "${key.id}" already`);
    },
    get(id) {
      const row = select.get(id);
      return row && toKey(row);
    },
    list: ({ after = "", limit }) => list.all(after, limit).map(toKey),
    setDisabled(id, disabled) {
      const row = setDisabled.get(disabled ? 1 : 0, id);
      return row && toKey(row);
    },
    delete: (id) =>
      database.transaction(() => {
        removeBucket.run(id);
        removeSubscriptions.run(id);
        return remove.run(id).changes > 0;
      }),
    touch: (uses) =>
      database.transaction(() => {
        for (const { id, lastUsedAt } of uses) touch.run(lastUsedAt, id, aheadOf(lastUsedAt));
      }),
    version: () => version.get()!.version,
  };
}

import type { SqliteValue } from "../../runtime/sqlite.ts";
import type { NounDriver } from "../checked_store.ts";
import { sqlTransactionIntents, TRANSACTION_INTENT_COLUMNS } from "../sql/transaction_intents.ts";
import type { TransactionIntentStore } from "../transaction_intent.ts";
import { rowValues, type SqliteContext } from "./database.ts";

/** Intents of transactions. `prune` deletes at most `limit` that were last used before this time, within a transaction. */
export function sqliteTransactionIntents(
  context: SqliteContext,
  isFull: (keyId: string, most: number) => boolean,
): NounDriver<TransactionIntentStore> & { prune(usedBeforeMs: number, limit: number): number } {
  const { database, now, commitTogether } = context;
  const exists = database.prepare("SELECT 1 FROM transaction_intent WHERE key_id = ? AND key = ?");
  const insert = database.prepare(
    `INSERT INTO transaction_intent (key_id, key, ${TRANSACTION_INTENT_COLUMNS})
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const prune = database.prepare(`
    DELETE FROM transaction_intent WHERE rowid IN
      (SELECT rowid FROM transaction_intent WHERE used_at_ms < ? ORDER BY used_at_ms LIMIT ?)`);

  const transactions = sqlTransactionIntents(
    context,
    ({ name, values, atMs, mostOfKey, mostInAll }) =>
      commitTogether(() => {
        if (exists.get(name.keyId, name.key) !== undefined) return "changed";
        if (isFull(name.keyId, mostOfKey) || isFull("", mostInAll)) return "full";
        insert.run(...rowValues(values) as SqliteValue[], Math.max(now(), atMs));
        return "written";
      }),
  );
  return { ...transactions, prune: (usedBeforeMs, limit) => prune.run(usedBeforeMs, limit).changes };
}

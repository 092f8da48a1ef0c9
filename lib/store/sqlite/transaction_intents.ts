import type { SqliteDatabase } from "../../runtime/sqlite.ts";
import type { NounDriver } from "../checked_store.ts";
import {
  toTransactionIntent,
  TRANSACTION_INTENT_COLUMNS,
  type TransactionIntentRow,
  transactionIntentRow,
} from "../sql/transaction_intents.ts";
import type { TransactionIntentName, TransactionIntentStore } from "../transaction_intent.ts";
import { rowValues, type SqliteContext } from "./database.ts";

/** Intents of transactions. `prune`: forgets at most so many last used before this time, within a transaction. */
export function sqliteTransactionIntents(
  { database, now, commitTogether }: SqliteContext,
  isFull: (keyId: string, most: number) => boolean,
): NounDriver<TransactionIntentStore> & { prune(usedBeforeMs: number, limit: number): number } {
  const statements = prepared(database);
  return {
    transaction({ keyId, key }) {
      const row = statements.select.get(keyId, key);
      return row && toTransactionIntent(row);
    },
    transactions: ({ after, limit }) =>
      statements.list.all(after?.keyId ?? "", after?.key ?? "", limit)
        .map((row) => ({ keyId: row.keyId, key: row.key, ...toTransactionIntent(row) })),
    setTransaction({ name: { keyId, key }, seen, version, intent, mostOfKey, mostInAll, atMs = 0 }) {
      const values = rowValues({ version, ...transactionIntentRow(intent, intent.envelope) });
      return commitTogether(() => {
        const usedAtMs = Math.max(now(), atMs);
        if (seen !== undefined) {
          return statements.update.run(...values, usedAtMs, keyId, key, seen).changes === 0 ? "changed" : "written";
        }
        if (statements.select.get(keyId, key) !== undefined) return "changed";
        if (isFull(keyId, mostOfKey) || isFull("", mostInAll)) return "full";
        statements.insert.run(keyId, key, ...values, usedAtMs);
        return "written";
      });
    },
    prune: (usedBeforeMs, limit) => statements.prune.run(usedBeforeMs, limit).changes,
  };
}

function prepared(database: SqliteDatabase) {
  return {
    select: database.prepare<TransactionIntentRow>(
      `SELECT ${TRANSACTION_INTENT_COLUMNS} FROM transaction_intent WHERE key_id = ? AND key = ?`,
    ),
    list: database.prepare<TransactionIntentRow & TransactionIntentName>(`
      SELECT key_id AS keyId, key, ${TRANSACTION_INTENT_COLUMNS} FROM transaction_intent
      WHERE (key_id, key) > (?, ?) ORDER BY key_id, key LIMIT ?`),
    insert: database.prepare(
      `INSERT INTO transaction_intent (key_id, key, ${TRANSACTION_INTENT_COLUMNS})
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    update: database.prepare(`
      UPDATE transaction_intent SET version = ?, request = ?, sequence = ?, envelope = ?, warning = ?, is_rejected = ?,
        envelopes = ?, outcome_hash = ?, outcome_ledger = ?, used_at_ms = max(used_at_ms, ?)
      WHERE key_id = ? AND key = ? AND version = ?`),
    prune: database.prepare(`
      DELETE FROM transaction_intent WHERE rowid IN
        (SELECT rowid FROM transaction_intent WHERE used_at_ms < ? ORDER BY used_at_ms LIMIT ?)`),
  };
}

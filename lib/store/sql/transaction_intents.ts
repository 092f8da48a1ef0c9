import type { NounDriver } from "../checked_store.ts";
import type {
  KeptTransactionIntent,
  TransactionIntent,
  TransactionIntentName,
  TransactionIntentStore,
} from "../transaction_intent.ts";
import type { Parameter, SqlContext } from "./database.ts";

interface TransactionIntentRow {
  version: string;
  request: string;
  sequence: string;
  envelope: Uint8Array;
  warning: string | null;
  is_rejected: boolean | number;
  /** JSON. */
  envelopes: string;
  outcome_hash: string | null;
  outcome_ledger: number | null;
  used_at_ms: number;
}

export const TRANSACTION_INTENT_COLUMNS =
  "version, request, sequence, envelope, warning, is_rejected, envelopes, outcome_hash, outcome_ledger, used_at_ms";

/** The values of `TRANSACTION_INTENT_COLUMNS`, without the last. */
function valuesOf(version: string, { request, sequence, envelope, warning, isRejected, ...rest }: TransactionIntent) {
  const { envelopes, outcome } = rest;
  return [
    version,
    request,
    sequence,
    envelope,
    warning ?? null,
    isRejected,
    JSON.stringify(envelopes),
    outcome?.hash ?? null,
    outcome?.ledger ?? null,
  ];
}

function toTransactionIntent(row: TransactionIntentRow): KeptTransactionIntent {
  const intent: KeptTransactionIntent = {
    version: row.version,
    request: row.request,
    sequence: row.sequence,
    envelope: new Uint8Array(row.envelope),
    isRejected: Boolean(row.is_rejected),
    envelopes: JSON.parse(row.envelopes),
    usedAtMs: row.used_at_ms,
  };
  if (row.warning !== null) intent.warning = row.warning;
  if (row.outcome_hash !== null) intent.outcome = { hash: row.outcome_hash, ledger: row.outcome_ledger! };
  return intent;
}

/** A new intent: the name, the values of its columns, and the bounds. */
export interface NewTransactionIntent {
  name: TransactionIntentName;
  /** Of all columns but the last: first the two of the name. */
  values: Parameter[];
  /** The network's time, Unix ms. */
  atMs: number;
  mostOfKey: number;
  mostInAll: number;
}

/** @param insert inserts an intent that does not exist yet, unless there are too many */
export function sqlTransactionIntents(
  { sql }: SqlContext,
  insert: (intent: NewTransactionIntent) => Promise<"written" | "changed" | "full">,
): NounDriver<TransactionIntentStore> {
  const table = `${sql.prefix}transaction_intent`;
  const select = sql.prepare<TransactionIntentRow>(
    `SELECT ${TRANSACTION_INTENT_COLUMNS} FROM ${table} WHERE key_id = $1 AND key = $2`,
  );
  const list = sql.prepare<TransactionIntentRow & { key_id: string; key: string }>(
    `SELECT key_id, key, ${TRANSACTION_INTENT_COLUMNS} FROM ${table}
    WHERE (key_id, key) > ($1, $2) ORDER BY key_id, key LIMIT $3`,
  );
  const update = sql.prepare(
    `UPDATE ${table} SET version = $3, request = $4, sequence = $5, envelope = $6, warning = $7, is_rejected = $8,
      envelopes = $9, outcome_hash = $10, outcome_ledger = $11,
      used_at_ms = ${sql.greatest}(used_at_ms, ${sql.now}, CAST($12 AS bigint))
    WHERE key_id = $1 AND key = $2 AND version = $13`,
  );

  return {
    async transaction({ keyId, key }) {
      const [row] = await sql.read(select(keyId, key));
      return row && toTransactionIntent(row);
    },
    async transactions({ after, limit }) {
      const rows = await sql.read(list(after?.keyId ?? "", after?.key ?? "", limit));
      return rows.map((row) => ({ keyId: row.key_id, key: row.key, ...toTransactionIntent(row) }));
    },
    async setTransaction({ name, seen, version, intent, mostOfKey, mostInAll, ...step }) {
      const values = [name.keyId, name.key, ...valuesOf(version, intent)];
      const atMs = Math.floor(step.atMs ?? 0);
      if (seen === undefined) return await insert({ name, values, atMs, mostOfKey, mostInAll });
      const { count } = await sql.writeTogether(update(...values, atMs, seen));
      return count === 0 ? "changed" : "written";
    },
  };
}

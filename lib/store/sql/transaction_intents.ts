import type { KeptTransactionIntent, TransactionIntent } from "../transaction_intent.ts";

export interface TransactionIntentRow {
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

/** The columns that a write replaces, in the order of `TRANSACTION_INTENT_COLUMNS`, but for the first and the last. */
export function transactionIntentRow<Bytes>(
  { request, sequence, warning, isRejected, envelopes, outcome }: Omit<TransactionIntent, "envelope">,
  envelope: Bytes,
) {
  return {
    request,
    sequence,
    envelope,
    warning: warning ?? null,
    is_rejected: isRejected,
    envelopes: JSON.stringify(envelopes),
    outcome_hash: outcome?.hash ?? null,
    outcome_ledger: outcome?.ledger ?? null,
  };
}

export function toTransactionIntent(row: TransactionIntentRow): KeptTransactionIntent {
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

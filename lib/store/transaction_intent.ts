import type { Intent, IntentName, KeptIntent } from "./intent.ts";

/** The name of a payment's intent: one `Idempotency-Key` of one API key, shared by prepare and submit. */
export type TransactionIntentName = Pick<IntentName, "keyId" | "key">;

/** An envelope of an intent that the network may still apply. */
export interface IntentEnvelope {
  /** Hash of the inner transaction, hex. */
  hash: string;
  /** The upper time bound, Unix seconds. */
  validUntil: number;
  /** A ledger at which the sequence number was unused. Absent: unknown. */
  sinceLedger?: number;
}

interface TransactionState {
  /** The sequence number of all its envelopes, decimal. */
  sequence: string;
  /** The client's own name of the transaction, from the first prepare. */
  reference?: string;
  /** A warning for the signer. */
  warning?: string;
  /** Whether the network rejected the newest envelope. */
  isRejected: boolean;
  /** Newest first, at most `MAX_INTENT_ENVELOPES`. Empty: the network will never apply any of them. */
  envelopes: IntentEnvelope[];
  /** The envelope that the network applied with success, and its ledger. */
  outcome?: { hash: string; ledger: number };
}

/** The one transaction that an intent stands for. */
export interface TransactionIntent extends TransactionState {
  /** Digest of source and operation, 64 hex digits. */
  request: string;
  /** The newest envelope, unsigned: the bytes of its XDR. */
  envelope: Uint8Array;
}

export type KeptTransactionIntent = TransactionIntent & Pick<KeptIntent, "version" | "usedAtMs">;

export const MAX_INTENT_ENVELOPES = 16;

export function toTransactionIntent({ state, envelope, ...kept }: KeptIntent): KeptTransactionIntent {
  return { ...kept, ...state as TransactionState, envelope: envelope! };
}

/** The intent without version and time, which a former read may have added. */
export function fromTransactionIntent(intent: TransactionIntent): Intent {
  const { request, envelope, sequence, reference, warning, isRejected, envelopes, outcome } = intent;
  return { request, envelope, state: { sequence, reference, warning, isRejected, envelopes, outcome } };
}

import type { MetaSlices } from "./meta.ts";

/** A stored transaction. */
export interface TransactionRecord {
  hash: string;
  /** Hash of the inner transaction of a fee bump. */
  innerHash?: string;
  successful: boolean;
  soroban: boolean;
  /** Inclusion fee charged per operation, stroops. */
  inclusionFee: bigint;
  envelopeXdr: Uint8Array;
  resultXdr: Uint8Array;
  metaXdr: Uint8Array;
  slices: MetaSlices;
  /** LedgerEntryChanges of fee and refund, each with its length. */
  feeChangesXdr: Uint8Array;
  refundChangesXdr: Uint8Array;
}

/** A stored ledger. */
export interface LedgerRecord {
  sequence: number;
  closeTime: number;
  hash: string;
  /** LedgerHeaderHistoryEntry. */
  headerXdr: Uint8Array;
  /** The transactions of the GeneralizedTransactionSet, in order of application. */
  transactions: TransactionRecord[];
  /** LedgerKeys of evicted entries. */
  evictedKeys: Uint8Array[];
}

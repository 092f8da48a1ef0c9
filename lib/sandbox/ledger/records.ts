import type { MetaSlices } from "./meta.ts";

/** One transaction of a ledger, as it is kept. */
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
  /** LedgerEntryChanges, of the fee and of the refund: with their length. */
  feeChangesXdr: Uint8Array;
  refundChangesXdr: Uint8Array;
}

/** A closed ledger, as it is kept. */
export interface LedgerRecord {
  sequence: number;
  closeTime: number;
  hash: string;
  /** LedgerHeaderHistoryEntry. */
  headerXdr: Uint8Array;
  /** GeneralizedTransactionSet's hash was made of these, in order of application. */
  transactions: TransactionRecord[];
  /** LedgerKeys that were evicted. */
  evictedKeys: Uint8Array[];
}

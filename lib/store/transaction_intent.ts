/** Which intent: one `Idempotency-Key` of one API key, shared by prepare and submit. */
export interface TransactionIntentName {
  keyId: string;
  /** The header's value, at most 255 visible characters. */
  key: string;
}

/** An envelope of an intent that may still be applied. */
export interface IntentEnvelope {
  /** Of the inner transaction, hex. */
  hash: string;
  /** Its upper time bound, Unix seconds. */
  validUntil: number;
  /** A ledger at which its sequence number was unused. Absent: none is known. */
  sinceLedger?: number;
}

/** What is known of the one transaction that an intent means. */
export interface TransactionIntent {
  /** Alike for two requests with the same source and operation: 64 hex digits. */
  request: string;
  /** The sequence number that all of its envelopes use, decimal. */
  sequence: string;
  /** The newest envelope, unsigned: the bytes of its XDR, at most `MAX_ENVELOPE_BYTES`. */
  envelope: Uint8Array;
  /** What its signer should know. */
  warning?: string;
  /** Whether the network turned the newest envelope down. */
  isRejected: boolean;
  /** Newest first, at most `MAX_INTENT_ENVELOPES`. Empty: none of them will ever be applied. */
  envelopes: IntentEnvelope[];
  /** The envelope that was applied with success, and its ledger. */
  outcome?: { hash: string; ledger: number };
}

/** An intent as the store keeps it. */
export interface KeptTransactionIntent extends TransactionIntent {
  /** Another text with every write. */
  version: string;
  /** When it was last written, Unix ms by the store's clock or the network's, whichever was later. */
  usedAtMs: number;
}

export type ListedTransactionIntent = TransactionIntentName & KeptTransactionIntent;

export const MAX_INTENT_ENVELOPES = 16;
/** More than the network takes: 132 096 in protocol 27. */
export const MAX_ENVELOPE_BYTES = 150_000;

/** Intents of transactions. They count with the other intents, and go with them. */
export interface TransactionIntentStore {
  /** The intent of this name, undefined when there is none. */
  transaction(name: TransactionIntentName): Promise<KeptTransactionIntent | undefined>;
  /** Every intent, in an order of the store's own, at most `limit` (≤ 500) after the one with the name `after`. */
  transactions(page: { after?: TransactionIntentName; limit: number }): Promise<ListedTransactionIntent[]>;
  /**
   * Writes an intent if it is still as it was seen. Answers `changed`, and writes nothing, when it is not, and `full` when a
   * new one would be one more than `mostOfKey` of its API key or `mostInAll`. Kept seven days from the later of the store's
   * clock and `atMs`, the network's time in Unix ms, and never shorter than before. Durable when it resolves.
   * @param step `seen`: the version that `transaction` answered, undefined: that there is none; `version`: the new one,
   * unlike any other
   */
  setTransaction(
    step: {
      name: TransactionIntentName;
      seen: string | undefined;
      version: string;
      intent: TransactionIntent;
      mostOfKey: number;
      mostInAll: number;
      atMs?: number;
    },
  ): Promise<"written" | "changed" | "full">;
}

/** The name of an intent: one `Idempotency-Key` of one API key, shared by prepare and submit. */
export interface TransactionIntentName {
  keyId: string;
  /** The header's value, at most 255 visible characters. */
  key: string;
}

/** An envelope of an intent that the network may still apply. */
export interface IntentEnvelope {
  /** Hash of the inner transaction, hex. */
  hash: string;
  /** The upper time bound, Unix seconds. */
  validUntil: number;
  /** A ledger at which the sequence number was unused. Absent: unknown. */
  sinceLedger?: number;
}

/** The one transaction that an intent stands for. */
export interface TransactionIntent {
  /** Digest of source and operation, 64 hex digits. */
  request: string;
  /** The sequence number of all its envelopes, decimal. */
  sequence: string;
  /** The newest envelope, unsigned: the bytes of its XDR, at most `MAX_ENVELOPE_BYTES`. */
  envelope: Uint8Array;
  /** A warning for the signer. */
  warning?: string;
  /** Whether the network rejected the newest envelope. */
  isRejected: boolean;
  /** Newest first, at most `MAX_INTENT_ENVELOPES`. Empty: the network will never apply any of them. */
  envelopes: IntentEnvelope[];
  /** The envelope that the network applied with success, and its ledger. */
  outcome?: { hash: string; ledger: number };
}

/** An intent as the store has it. */
export interface KeptTransactionIntent extends TransactionIntent {
  /** Another text with every write. */
  version: string;
  /** The last write, Unix ms: by the store's clock or the network's, whichever was later. */
  usedAtMs: number;
}

export type ListedTransactionIntent = TransactionIntentName & KeptTransactionIntent;

export const MAX_INTENT_ENVELOPES = 16;
/** The network takes at most 132 096 bytes in protocol 27. */
export const MAX_ENVELOPE_BYTES = 150_000;

/** Intents of transactions. They share bounds and retention with the other intents. */
export interface TransactionIntentStore {
  /** The intent of this name, undefined when there is none. */
  transaction(name: TransactionIntentName): Promise<KeptTransactionIntent | undefined>;
  /** Every intent, in an order of the store's own: at most `limit` (≤ 500) after the one with the name `after`. */
  transactions(page: { after?: TransactionIntentName; limit: number }): Promise<ListedTransactionIntent[]>;
  /**
   * Writes an intent if it is unchanged since the caller saw it. Returns `changed`, and writes nothing, when it has changed.
   * Returns `full` when a new intent would exceed `mostOfKey` of its API key or `mostInAll`. The store keeps it for seven days from
   * the later of its own clock and `atMs`, the network's time in Unix ms. A write never shortens that. Durable when it
   * resolves.
   * @param step `seen` is the version from `transaction`. Undefined: there was none. `version` is a new text, unlike any other
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

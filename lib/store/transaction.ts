export const TRANSACTION_STATUSES = ["pending", "success", "failed", "rejected"] as const;

/** A transaction that an API key submitted, as that key sees it. */
export interface SubmittedTransaction {
  keyId: string;
  /** Hex. Of a fee bump the outer one. */
  hash: string;
  /** Kind of its operation. */
  kind: string;
  /** The account whose sequence number it uses, `G…`. */
  source: string;
  /** This key gave it to prepare. */
  reference?: string;
  /** This key sent it with its submit. */
  idempotencyKey?: string;
  submittedAtMs: number;
  /** As in its submission. `pending`: the outcome is unknown. */
  status: (typeof TRANSACTION_STATUSES)[number];
  /** The ledger that included it. Absent: none. */
  ledger?: number;
}

/** A transaction at its submit. The store adds reference and outcome. */
export type NewTransaction = Omit<SubmittedTransaction, "reference" | "status" | "ledger">;

/** The place of a transaction in the lists of its key: by time, then by hash. */
export type TransactionPlace = Pick<SubmittedTransaction, "submittedAtMs" | "hash">;

/** Selects the transactions that meet every given condition. */
export interface TransactionFilter {
  source?: string;
  kind?: string;
  reference?: string;
  status?: SubmittedTransaction["status"];
  /** `submittedAtMs`, inclusive. */
  fromMs?: number;
  /** Exclusive. */
  toMs?: number;
}

export const TRANSACTION_SUBJECTS = ["source", "kind", "reference"] as const;
export type TransactionSubject = (typeof TRANSACTION_SUBJECTS)[number];

export interface TransactionQuery {
  keyId: string;
  filter: TransactionFilter;
  order: "asc" | "desc";
  /** The last transaction of the page before. */
  after?: TransactionPlace;
  limit: number;
}

/** Each key that submitted a transaction has a record of its own. `submissions.record` writes the first one. */
export interface TransactionStore {
  /**
   * Adds a record. The first one of a key and a hash stays. It takes the reference that the key gave, unless it has one, and the
   * outcome of its submission, unless only its own has a ledger. Durable when it resolves.
   */
  add(transaction: SubmittedTransaction): Promise<void>;
  /** The records of these hashes (at most 1 000), of all keys, in no order. */
  find(hashes: string[]): Promise<SubmittedTransaction[]>;
  /**
   * At most `limit` (≤ 1 000) transactions of a key that match, by time and hash. The cost depends on `limit`, not on the depth
   * or on the rarity of matches. With several of source, kind and reference it depends on the rarest of them.
   */
  list(query: TransactionQuery): Promise<SubmittedTransaction[]>;
  /**
   * The records of all keys, ascending by time, hash and key: at most `limit` (≤ 1 000) after the one of `after`. `fromMs` is
   * inclusive, `toMs` exclusive. The cost depends on `limit` only.
   */
  all(page: {
    fromMs?: number;
    toMs?: number;
    after?: TransactionPlace & Pick<SubmittedTransaction, "keyId">;
    limit: number;
  }): Promise<SubmittedTransaction[]>;
  /** Deletes records submitted before this time, those of at most 500 hashes. Returns their number. */
  prune(submittedBeforeMs: number): Promise<number>;
}

/** Whether a filter lets a transaction through. */
export function matchesTransaction(filter: TransactionFilter, transaction: SubmittedTransaction): boolean {
  const { fromMs = -Infinity, toMs = Infinity, status, ...subjects } = filter;
  const { submittedAtMs } = transaction;
  return submittedAtMs >= fromMs && submittedAtMs < toMs && (status === undefined || status === transaction.status) &&
    TRANSACTION_SUBJECTS.every((name) => subjects[name] === undefined || subjects[name] === transaction[name]);
}

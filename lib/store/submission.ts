import type { NewTransaction } from "./transaction.ts";

/** An envelope that the gateway has sent or is about to send. It shows the outcome after a crash or a time-out. */
export interface Submission {
  /** Hash of the transaction, hex. For a fee bump the store has one record for the outer hash and one for the inner hash. */
  hash: string;
  /** The upper time bound, Unix seconds. */
  validUntil: number;
  submittedAtMs: number;
  /** The account whose sequence number the envelope uses, `G…`. */
  source?: string;
  /** Digest of the operation without nonces, 64 hex digits. Equal for two envelopes that do the same. Absent as `source`. */
  operation?: string;
  /** Absent: unknown. */
  outcome?: SubmissionOutcome;
}

/** An outcome with a ledger is final. One without (rejected, or too late) gives way when a ledger has included the envelope. */
export interface SubmissionOutcome {
  /** `failed`: applied without success, or not included before its time bound. `rejected`: the network rejected it. */
  status: "success" | "failed" | "rejected";
  /** The ledger that included the envelope. Absent: none. */
  ledger?: number;
  /** The fields of the error that the client got: code, message and details. Absent with a success. */
  error?: Record<string, string>;
}

export interface SubmissionStore {
  /**
   * Records an envelope before the gateway sends it, and in the same commit the key's `transaction` of this hash, as
   * `transactions.add`. A second record of a hash changes nothing but an outcome without a ledger: the store removes it, because
   * the gateway resends the envelope. Durable when it resolves.
   */
  record(submission: Omit<Submission, "outcome">, transaction?: NewTransaction): Promise<void>;
  /**
   * Records how a submission ended, and all keys' transactions of its hash. Never replaces an outcome with a ledger by one
   * without. Passes over an unknown hash. Durable when it resolves.
   */
  recordOutcome(hash: string, outcome: SubmissionOutcome): Promise<void>;
  /** The record of this hash, undefined when this gateway never sent it. */
  get(hash: string): Promise<Submission | undefined>;
  /**
   * Submissions without an outcome that have a source, of one account or of all: at most `limit` (≤ 500) after the hash `after`,
   * ascending by hash. The cost depends on `limit`, not on the number of outcomes.
   */
  withoutOutcome(page: { source?: string; after?: string; limit: number }): Promise<Submission[]>;
  /** Every submission: at most `limit` (≤ 500) after the hash `after`, ascending by hash. */
  list(page: { after?: string; limit: number }): Promise<Submission[]>;
  /** Deletes at most 500 submissions that were recorded before this time, with or without an outcome. Returns their number. */
  prune(submittedBeforeMs: number): Promise<number>;
}

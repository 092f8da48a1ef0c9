/** An envelope that was or is about to be sent: its outcome can be told after a crash or a time-out. */
export interface Submission {
  /** Hash of the transaction, hex; of the outer one, or of the inner one of a fee bump, which is noted beside it. */
  hash: string;
  /** The upper time bound, Unix seconds. */
  validUntil: number;
  submittedAtMs: number;
  /** The account whose sequence number it uses, `G…`. */
  source?: string;
  /** What it does, as 64 hex digits: alike for two envelopes that do the same, whatever their nonces. Absent as `source`. */
  operation?: string;
  /** How it ended. Absent: that is not known yet. */
  outcome?: SubmissionOutcome;
}

/** One with a ledger is for good; one without (rejected, or too late) gives way when a ledger has taken it in after all. */
export interface SubmissionOutcome {
  /** `failed`: applied without success, or in no ledger before its time bound. `rejected`: the network turned it down. */
  status: "success" | "failed" | "rejected";
  /** The ledger that it was applied in. Absent: in none. */
  ledger?: number;
  /** The fields of the error as callers are told it: code, message and what goes with them. Absent with a success. */
  error?: Record<string, string>;
}

export interface SubmissionStore {
  /**
   * Notes an envelope before it is sent. The same hash again keeps the first note; an outcome without a ledger is taken
   * back, since it is being sent again. Durable when it resolves.
   */
  record(submission: Omit<Submission, "outcome">): Promise<void>;
  /**
   * Notes how a submission ended. An outcome with a ledger is kept for good, any other gives way to it and to a newer one;
   * a hash that is not noted is passed over. Durable when it resolves.
   */
  recordOutcome(hash: string, outcome: SubmissionOutcome): Promise<void>;
  /** The note on this hash, undefined when this gateway never sent it. */
  get(hash: string): Promise<Submission | undefined>;
  /**
   * Submissions without an outcome, of one account or of all that have one noted: ascending by hash, at most `limit`
   * (≤ 500) after the hash `after`. The cost depends on `limit`, not on how many have an outcome.
   */
  withoutOutcome(page: { source?: string; after?: string; limit: number }): Promise<Submission[]>;
  /** Every submission, ascending by hash, at most `limit` (≤ 500) after the hash `after`. */
  list(page: { after?: string; limit: number }): Promise<Submission[]>;
  /** Forgets submissions noted before this time, with or without an outcome, at most 500 at a call; answers how many went. */
  prune(submittedBeforeMs: number): Promise<number>;
}

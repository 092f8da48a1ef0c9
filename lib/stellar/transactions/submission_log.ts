import type { GatewayError } from "../../errors.ts";

/** The outcome of a transaction. */
export interface Outcome {
  /** `failed`: applied without success, or in no ledger before its time bound. `rejected`: the network refused it. */
  status: "success" | "failed" | "rejected";
  /** The ledger that applied it; absent for none. */
  ledger?: number;
  /** The error for its sender; absent with a success. */
  error?: GatewayError;
}

/** An envelope before its first send. */
export interface NewSubmission {
  /** Hex. */
  hash: string;
  /** Upper time bound, Unix seconds. */
  validUntil: number;
  /** The account whose sequence number it uses, `G…`. */
  source: string;
  /** Equal for two envelopes that do the same: `operationDigest` of the call. */
  operation: string;
  /** For a fee bump: the hash of its inner transaction, which has its own record and may be applied alone. */
  inner?: string;
  /** Absent: the client submitted another envelope, which has this one within. */
  submitter?: Submitter;
}

/** The client that submits a transaction. */
export interface Submitter {
  keyId: string;
  /** The kind of the operation. */
  kind: string;
  idempotencyKey?: string;
}

/** The envelopes that this gateway sent and their outcomes, so that a crash or a pruning node loses none. */
export interface SubmissionLog {
  /** Stores an envelope; resolves before the gateway sends anything. */
  record(note: NewSubmission): Promise<void>;
  /** Stores that a further client submitted a stored envelope; ignores a hash without a record. */
  recordSubmitter(note: Pick<NewSubmission, "hash" | "source">, submitter: Submitter): Promise<void>;
  /** Stores an outcome; ignores a hash without a record. */
  recordOutcome(hash: string, outcome: Outcome): Promise<void>;
  /** The record of this hash, undefined when this gateway did not send it. */
  get(hash: string): Promise<{ validUntil: number; outcome?: Outcome } | undefined>;
  /** The inner hash of a fee bump that this gateway sent; undefined for other hashes. */
  innerOf(hash: string): Promise<string | undefined>;
  /** The ledger of an event of this transaction, which proves its success. */
  ledgerOf(hash: string): Promise<number | undefined>;
}

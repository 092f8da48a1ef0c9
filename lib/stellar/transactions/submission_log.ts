import type { GatewayError } from "../../errors.ts";

/** How a transaction ended. */
export interface Outcome {
  /** `failed`: applied without success, or in no ledger before its time bound. `rejected`: the network turned it down. */
  status: "success" | "failed" | "rejected";
  /** The ledger that it was applied in; absent: in none. */
  ledger?: number;
  /** What its sender is told; absent with a success. */
  error?: GatewayError;
}

/** An envelope that is about to be sent. */
export interface NewSubmission {
  /** Hex. */
  hash: string;
  /** Upper time bound, Unix seconds. */
  validUntil: number;
  /** The account whose sequence number it uses, `G…`. */
  source: string;
  /** Alike for two envelopes that do the same: `operationDigest` of the call. */
  operation: string;
  /** Of a fee bump the hash of its inner transaction, which is noted beside it, and may be applied by itself. */
  inner?: string;
}

/** What is remembered of the envelopes that were sent from here, so that a crash or a forgetful node loses no outcome. */
export interface SubmissionLog {
  /** Notes an envelope durably; resolves before anything is sent. */
  record(note: NewSubmission): Promise<void>;
  /** Notes how it ended; passes over a hash that is not noted. */
  recordOutcome(hash: string, outcome: Outcome): Promise<void>;
  /** The note on this hash, undefined when it was not sent from here. */
  get(hash: string): Promise<{ validUntil: number; outcome?: Outcome } | undefined>;
  /** The inner transaction of a fee bump that was sent from here; undefined for what is none. */
  innerOf(hash: string): Promise<string | undefined>;
  /** The ledger of an event that this transaction is known to have made: it was applied with success. */
  ledgerOf(hash: string): Promise<number | undefined>;
}

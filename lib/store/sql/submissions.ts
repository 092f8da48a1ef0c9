import type { Submission } from "../submission.ts";

export interface SubmissionRow {
  hash: string;
  valid_until: number;
  submitted_at_ms: number;
  source: string | null;
  operation: string | null;
  /** JSON. */
  outcome: string | null;
}

export const SUBMISSION_COLUMNS = "hash, valid_until, submitted_at_ms, source, operation, outcome";

export function submissionRow(submission: Submission): SubmissionRow {
  const { hash, validUntil, submittedAtMs, source = null, operation = null, outcome } = submission;
  return {
    hash,
    valid_until: validUntil,
    submitted_at_ms: submittedAtMs,
    source,
    operation,
    outcome: outcome === undefined ? null : JSON.stringify(outcome),
  };
}

export function toSubmission(row: SubmissionRow): Submission {
  const submission: Submission = { hash: row.hash, validUntil: row.valid_until, submittedAtMs: row.submitted_at_ms };
  if (row.source !== null) submission.source = row.source;
  if (row.operation !== null) submission.operation = row.operation;
  if (row.outcome !== null) submission.outcome = JSON.parse(row.outcome);
  return submission;
}

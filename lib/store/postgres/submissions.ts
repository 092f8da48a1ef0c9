import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { NounDriver } from "../checked_store.ts";
import type { Submission, SubmissionStore } from "../submission.ts";
import type { PostgresContext } from "./store.ts";

export interface SubmissionRow {
  hash: string;
  valid_until: number;
  submitted_at_ms: number;
  source: string | null;
  operation: string | null;
  /** JSON. */
  outcome: string | null;
}

const COLUMNS = "hash, valid_until, submitted_at_ms, source, operation";

/** Envelopes that were sent. Those noted in one turn of the event loop share one commit. */
export function postgresSubmissions({ database, prefix }: PostgresContext): NounDriver<SubmissionStore> {
  /** The first note on each hash. */
  let waiting = new Map<string, Omit<SubmissionRow, "outcome">>();
  let commit: Promise<void> | undefined;

  async function commitWaiting(): Promise<void> {
    await yieldToOthers();
    const batch = [...waiting.values()];
    waiting = new Map();
    commit = undefined;
    await database.write(
      `INSERT INTO ${prefix}submission AS kept (${COLUMNS}) SELECT ${COLUMNS}
      FROM json_to_recordset($1::text::json) AS given (hash text, valid_until bigint, submitted_at_ms bigint, source text,
        operation text)
      ORDER BY hash ON CONFLICT (hash) DO UPDATE SET outcome = NULL
        WHERE kept.outcome IS NOT NULL AND kept.outcome_ledger IS NULL`,
      [batch],
    );
  }

  return {
    record({ hash, validUntil, submittedAtMs, source = null, operation = null }) {
      const row = { hash, valid_until: validUntil, submitted_at_ms: submittedAtMs, source, operation };
      if (!waiting.has(hash)) waiting.set(hash, row);
      return commit ??= commitWaiting();
    },
    async recordOutcome(hash, outcome) {
      await database.write(
        `UPDATE ${prefix}submission SET outcome = $2, outcome_ledger = $3
        WHERE hash = $1 AND (outcome_ledger IS NULL OR $3::bigint IS NOT NULL)`,
        [hash, JSON.stringify(outcome), outcome.ledger ?? null],
      );
    },
    async get(hash) {
      const [row] = await database.read<SubmissionRow>(
        `SELECT ${COLUMNS}, outcome FROM ${prefix}submission WHERE hash = $1`,
        [hash],
      );
      return row && toSubmission(row);
    },
    async withoutOutcome({ source, after = "", limit }) {
      const ofSource = source === undefined ? "" : "source = $3 AND";
      const rows = await database.read<SubmissionRow>(
        `SELECT ${COLUMNS}, outcome FROM ${prefix}submission
        WHERE outcome IS NULL AND source IS NOT NULL AND ${ofSource} hash > $1 ORDER BY hash LIMIT $2`,
        source === undefined ? [after, limit] : [after, limit, source],
      );
      return rows.map(toSubmission);
    },
    async prune(submittedBeforeMs) {
      const { count } = await database.write(
        `DELETE FROM ${prefix}submission WHERE hash = ANY (ARRAY(SELECT hash FROM ${prefix}submission
          WHERE submitted_at_ms < $1 ORDER BY submitted_at_ms LIMIT 500))`,
        [submittedBeforeMs],
      );
      return count;
    },
  };
}

export function toSubmission(row: SubmissionRow): Submission {
  const submission: Submission = { hash: row.hash, validUntil: row.valid_until, submittedAtMs: row.submitted_at_ms };
  if (row.source !== null) submission.source = row.source;
  if (row.operation !== null) submission.operation = row.operation;
  if (row.outcome !== null) submission.outcome = JSON.parse(row.outcome);
  return submission;
}

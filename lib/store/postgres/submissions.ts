import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { NounDriver } from "../checked_store.ts";
import { SUBMISSION_COLUMNS, type SubmissionRow, submissionRow, toSubmission } from "../sql/submissions.ts";
import type { SubmissionStore } from "../submission.ts";
import type { PostgresContext } from "./database.ts";

/** Envelopes that were sent. Those noted in one turn of the event loop share one commit. */
export function postgresSubmissions({ database, prefix }: PostgresContext): NounDriver<SubmissionStore> {
  /** The first note on each hash. */
  let waiting = new Map<string, SubmissionRow>();
  let commit: Promise<void> | undefined;

  async function commitWaiting(): Promise<void> {
    await yieldToOthers();
    const batch = [...waiting.values()];
    waiting = new Map();
    commit = undefined;
    await database.write(
      `INSERT INTO ${prefix}submission AS kept (${SUBMISSION_COLUMNS}) SELECT ${SUBMISSION_COLUMNS}
      FROM json_to_recordset($1::text::json) AS given (hash text, valid_until bigint, submitted_at_ms bigint, source text,
        operation text, outcome text)
      ORDER BY hash ON CONFLICT (hash) DO UPDATE SET outcome = NULL
        WHERE kept.outcome IS NOT NULL AND kept.outcome_ledger IS NULL`,
      [batch],
    );
  }

  return {
    record(submission) {
      if (!waiting.has(submission.hash)) waiting.set(submission.hash, submissionRow(submission));
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
        `SELECT ${SUBMISSION_COLUMNS} FROM ${prefix}submission WHERE hash = $1`,
        [hash],
      );
      return row && toSubmission(row);
    },
    async withoutOutcome({ source, after = "", limit }) {
      const ofSource = source === undefined ? "" : "source = $3 AND";
      const rows = await database.read<SubmissionRow>(
        `SELECT ${SUBMISSION_COLUMNS} FROM ${prefix}submission
        WHERE outcome IS NULL AND source IS NOT NULL AND ${ofSource} hash > $1 ORDER BY hash LIMIT $2`,
        source === undefined ? [after, limit] : [after, limit, source],
      );
      return rows.map(toSubmission);
    },
    async list({ after = "", limit }) {
      const rows = await database.read<SubmissionRow>(
        `SELECT ${SUBMISSION_COLUMNS} FROM ${prefix}submission WHERE hash > $1 ORDER BY hash LIMIT $2`,
        [after, limit],
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

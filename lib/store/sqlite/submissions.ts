import type { NounDriver } from "../checked_store.ts";
import { SUBMISSION_COLUMNS, type SubmissionRow, submissionRow, toSubmission } from "../sql/submissions.ts";
import type { SubmissionStore } from "../submission.ts";
import { rowValues, type SqliteContext } from "./database.ts";

/** Envelopes that were sent. */
export function sqliteSubmissions({ database, commitTogether }: SqliteContext): NounDriver<SubmissionStore> {
  const insert = database.prepare(`
    INSERT INTO submission (${SUBMISSION_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (hash) DO UPDATE SET outcome = NULL WHERE outcome ->> 'ledger' IS NULL`);
  const recordOutcome = database.prepare(`
    UPDATE submission SET outcome = ?1
    WHERE hash = ?2 AND (outcome ->> 'ledger' IS NULL OR ?1 ->> 'ledger' IS NOT NULL)`);
  const select = database.prepare<SubmissionRow>("SELECT * FROM submission WHERE hash = ?");
  const withoutOutcome = database.prepare<SubmissionRow>(`
    SELECT * FROM submission WHERE outcome IS NULL AND source IS NOT NULL AND hash > ? ORDER BY hash LIMIT ?`);
  const withoutOutcomeOf = database.prepare<SubmissionRow>(`
    SELECT * FROM submission WHERE outcome IS NULL AND source IS NOT NULL AND source = ? AND hash > ?
    ORDER BY hash LIMIT ?`);
  const list = database.prepare<SubmissionRow>("SELECT * FROM submission WHERE hash > ? ORDER BY hash LIMIT ?");
  const prune = database.prepare(`
    DELETE FROM submission WHERE hash IN
      (SELECT hash FROM submission WHERE submitted_at_ms < ? ORDER BY submitted_at_ms LIMIT 500)`);

  return {
    record: (submission) => commitTogether(() => void insert.run(...rowValues(submissionRow(submission)))),
    recordOutcome: (hash, outcome) => commitTogether(() => void recordOutcome.run(JSON.stringify(outcome), hash)),
    get(hash) {
      const row = select.get(hash);
      return row && toSubmission(row);
    },
    withoutOutcome: ({ source, after = "", limit }) =>
      (source === undefined ? withoutOutcome.all(after, limit) : withoutOutcomeOf.all(source, after, limit)).map(
        toSubmission,
      ),
    list: ({ after = "", limit }) => list.all(after, limit).map(toSubmission),
    prune: (submittedBeforeMs) => prune.run(submittedBeforeMs).changes,
  };
}

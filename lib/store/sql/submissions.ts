import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { NounDriver } from "../checked_store.ts";
import type { Submission, SubmissionStore } from "../submission.ts";
import type { NewTransaction, SubmittedTransaction } from "../transaction.ts";
import { send, type SqlContext, together } from "./database.ts";
import type { SqlTransactions } from "./transactions.ts";

interface SubmissionRow {
  hash: string;
  valid_until: number;
  submitted_at_ms: number;
  source: string | null;
  operation: string | null;
  /** JSON. */
  outcome: string | null;
}

const SUBMISSION_COLUMNS = "hash, valid_until, submitted_at_ms, source, operation, outcome";

function submissionRow(submission: Submission): SubmissionRow {
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

function toSubmission(row: SubmissionRow): Submission {
  const submission: Submission = { hash: row.hash, validUntil: row.valid_until, submittedAtMs: row.submitted_at_ms };
  if (row.source !== null) submission.source = row.source;
  if (row.operation !== null) submission.operation = row.operation;
  if (row.outcome !== null) submission.outcome = JSON.parse(row.outcome);
  return submission;
}

/** Sent envelopes. Those of one turn of the event loop are recorded by one commit. */
export function sqlSubmissions({ sql }: SqlContext, transactions: SqlTransactions): NounDriver<SubmissionStore> {
  const table = `${sql.prefix}submission`;
  const ledgerOf = (row: string) => sql.field(`${row}.outcome`, "ledger");
  const insert = sql.prepare(
    `INSERT INTO ${table} AS kept (${SUBMISSION_COLUMNS}) SELECT ${SUBMISSION_COLUMNS} FROM ${
      sql.given("hash text, valid_until bigint, submitted_at_ms bigint, source text, operation text, outcome text")
    } WHERE true ORDER BY hash
    ON CONFLICT (hash) DO UPDATE SET outcome = NULL WHERE kept.outcome IS NOT NULL AND ${ledgerOf("kept")} IS NULL`,
  );
  const setOutcome = sql.prepare(
    `UPDATE ${table} AS kept SET outcome = $2 WHERE hash = $1 AND ($3 OR ${ledgerOf("kept")} IS NULL)`,
  );
  const selectWhere = (where: string) => `SELECT ${SUBMISSION_COLUMNS} FROM ${table} WHERE ${where}`;
  const select = sql.prepare<SubmissionRow>(selectWhere("hash = $1"));
  const page = (where: string) => sql.prepare<SubmissionRow>(selectWhere(`${where}hash > $1 ORDER BY hash LIMIT $2`));
  const list = page("");
  const withoutOutcome = page("outcome IS NULL AND source IS NOT NULL AND ");
  const withoutOutcomeOf = page("outcome IS NULL AND source IS NOT NULL AND source = $3 AND ");
  const prune = sql.prepare(
    `DELETE FROM ${table} WHERE hash ${
      sql.oneOf(`SELECT hash FROM ${table} WHERE submitted_at_ms < $1 ORDER BY submitted_at_ms LIMIT 500`)
    }`,
  );
  /** The first record of each hash. */
  let waiting = new Map<string, SubmissionRow>();
  let submitted: SubmittedTransaction[] = [];
  let commit: Promise<void> | undefined;

  async function commitWaiting(): Promise<void> {
    await yieldToOthers();
    const [rows, added] = [[...waiting.values()], submitted];
    waiting = new Map();
    submitted = [];
    commit = undefined;
    await sql.transactionTogether(function* () {
      yield* together(send(insert(rows)), transactions.settle(rows.map(({ hash }) => hash), added));
    });
  }

  return {
    record(submission, transaction?: NewTransaction) {
      if (!waiting.has(submission.hash)) waiting.set(submission.hash, submissionRow(submission));
      if (transaction !== undefined) submitted.push({ ...transaction, status: "pending" });
      return commit ??= commitWaiting();
    },
    async recordOutcome(hash, outcome) {
      await sql.transactionTogether(function* () {
        const ended = setOutcome(hash, JSON.stringify(outcome), outcome.ledger !== undefined);
        yield* together(send(ended), transactions.settle([hash], []));
      });
    },
    async get(hash) {
      const [row] = await sql.read(select(hash));
      return row && toSubmission(row);
    },
    async withoutOutcome({ source, after = "", limit }) {
      const found = source === undefined ? withoutOutcome(after, limit) : withoutOutcomeOf(after, limit, source);
      return (await sql.read(found)).map(toSubmission);
    },
    list: async ({ after = "", limit }) => (await sql.read(list(after, limit))).map(toSubmission),
    prune: async (submittedBeforeMs) => (await sql.write(prune(submittedBeforeMs))).count,
  };
}

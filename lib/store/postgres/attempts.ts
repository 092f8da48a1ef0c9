import { type Attempt, type AttemptOutcome, ATTEMPTS_KEPT, type NewAttempt } from "../webhook.ts";
import type { Queries } from "./database.ts";

export interface AttemptRow {
  ordinal: number;
  replay_id: string | null;
  event_id: string;
  event_type: string;
  number: number;
  at_ms: number;
  duration_ms: number;
  outcome: AttemptOutcome;
  status_code: number | null;
  error: string | null;
  response_body: string | null;
  next_attempt_at_ms: number | null;
}

export const ATTEMPT_COLUMNS = "ordinal, replay_id, event_id, event_type, number, at_ms, duration_ms, outcome, " +
  "status_code, error, response_body, next_attempt_at_ms";

/** Attempts of one subscription that follow on its newest ordinal. */
export interface MadeAttempts {
  subscription: number;
  /** The newest ordinal before them. */
  newest: number;
  attempts: NewAttempt[];
}

/**
 * So many of the oldest go at once, each lot by a statement of its own, whose range is plain to the planner: joined with
 * many ranges it goes through the whole table, which grows for as long as anybody's transaction is held open.
 */
const REMOVED_AT_ONCE = 200;

/** Of so many attempts the oldest up to this ordinal are removed: lots of those beyond `ATTEMPTS_KEPT`. */
const removedOf = (newest: number) =>
  Math.max(0, Math.floor((newest - ATTEMPTS_KEPT) / REMOVED_AT_ONCE) * REMOVED_AT_ONCE);

/** Writes attempts, and removes the oldest beyond `ATTEMPTS_KEPT`, lot by lot; within a transaction that locks progress. */
export async function writeAttempts(queries: Queries, prefix: string, made: MadeAttempts[]): Promise<void> {
  const rows = made.flatMap(({ subscription, newest, attempts }) =>
    attempts.map((attempt, n) => ({ subscription, ...attemptRow(attempt, newest + n + 1) }))
  );
  if (rows.length === 0) return;
  const oldest = made.map(({ subscription, newest, attempts }) => ({
    subscription,
    above: removedOf(newest),
    upTo: removedOf(newest + attempts.length),
  })).filter(({ above, upTo }) => upTo > above);
  await Promise.all([
    queries.write(
      `INSERT INTO ${prefix}attempt (subscription, ${ATTEMPT_COLUMNS}) SELECT subscription, ${ATTEMPT_COLUMNS}
      FROM json_to_recordset($1::text::json) AS given (subscription bigint, ordinal bigint, replay_id text, event_id text,
        event_type text, number bigint, at_ms bigint, duration_ms double precision, outcome text, status_code integer,
        error text, response_body text, next_attempt_at_ms bigint)`,
      [rows],
    ),
    // From where the last lot ended: what is dead already is not gone through again.
    ...oldest.map(({ subscription, above, upTo }) =>
      queries.write(
        `DELETE FROM ${prefix}attempt WHERE subscription = $1 AND ordinal > $2 AND ordinal <= $3`,
        [subscription, above, upTo],
      )
    ),
  ]);
}

export function attemptRow(attempt: NewAttempt, ordinal: number): AttemptRow {
  return {
    ordinal,
    replay_id: attempt.replayId,
    event_id: attempt.eventId,
    event_type: attempt.eventType,
    number: attempt.number,
    at_ms: attempt.atMs,
    duration_ms: attempt.durationMs,
    outcome: attempt.outcome,
    status_code: attempt.statusCode,
    error: attempt.error,
    response_body: attempt.responseBody,
    next_attempt_at_ms: attempt.nextAttemptAtMs,
  };
}

export function toAttempt(row: AttemptRow): Attempt {
  return {
    ordinal: row.ordinal,
    replayId: row.replay_id,
    eventId: row.event_id,
    eventType: row.event_type,
    number: row.number,
    atMs: row.at_ms,
    durationMs: row.duration_ms,
    outcome: row.outcome,
    statusCode: row.status_code,
    error: row.error,
    responseBody: row.response_body,
    nextAttemptAtMs: row.next_attempt_at_ms,
  };
}

import type { Attempt, AttemptOutcome, NewAttempt } from "../webhook.ts";

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

/** In the order of `attemptRow`. */
export const ATTEMPT_COLUMNS = "ordinal, replay_id, event_id, event_type, number, at_ms, duration_ms, outcome, " +
  "status_code, error, response_body, next_attempt_at_ms";

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

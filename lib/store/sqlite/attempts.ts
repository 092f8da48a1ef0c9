import type { SqliteDatabase } from "../../runtime/sqlite.ts";
import { type Attempt, type AttemptOutcome, ATTEMPTS_KEPT, type NewAttempt } from "../webhook.ts";

interface AttemptRow {
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

/** The ring of attempts of each subscription, by its number. */
export interface SqliteAttempts {
  /** In place of the one `ATTEMPTS_KEPT` before it. To be called within the transaction that notes the ordinal. */
  write(subscription: number, ordinal: number, attempt: NewAttempt): void;
  /** Newest first, with ordinals up to `newest`. */
  list(subscription: number, newest: number, limit: number): Attempt[];
  /** Removes those made before this time; answers how many. */
  prune(subscription: number, beforeMs: number): number;
}

export function sqliteAttempts(database: SqliteDatabase): SqliteAttempts {
  const insert = database.prepare(`
    INSERT OR REPLACE INTO attempt (place, ordinal, replay_id, event_id, event_type, number, at_ms, duration_ms, outcome,
      status_code, error, response_body, next_attempt_at_ms)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const list = database.prepare<AttemptRow>(`
    SELECT * FROM attempt WHERE place >= ? AND place <= ? AND ordinal <= ? ORDER BY place DESC LIMIT ?`);
  const prune = database.prepare(
    `DELETE FROM attempt WHERE place >= ?1 * ${ATTEMPTS_KEPT} AND place < (?1 + 1) * ${ATTEMPTS_KEPT} AND at_ms < ?2`,
  );

  return {
    write(subscription, ordinal, attempt) {
      insert.run(
        placeOf(subscription, ordinal),
        ordinal,
        attempt.replayId,
        attempt.eventId,
        attempt.eventType,
        attempt.number,
        attempt.atMs,
        attempt.durationMs,
        attempt.outcome,
        attempt.statusCode,
        attempt.error,
        attempt.responseBody,
        attempt.nextAttemptAtMs,
      );
    },
    list(subscription, newest, limit) {
      if (newest < 1) return [];
      const begin = subscription * ATTEMPTS_KEPT;
      const place = placeOf(subscription, newest);
      const rows = list.all(begin, place, newest, limit);
      // The ring goes on at its end.
      if (rows.length < limit) {
        rows.push(...list.all(place + 1, begin + ATTEMPTS_KEPT - 1, newest, limit - rows.length));
      }
      return rows.map(toAttempt);
    },
    prune: (subscription, beforeMs) => prune.run(subscription, beforeMs).changes,
  };
}

function placeOf(subscription: number, ordinal: number): number {
  return subscription * ATTEMPTS_KEPT + ordinal % ATTEMPTS_KEPT;
}

function toAttempt(row: AttemptRow): Attempt {
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

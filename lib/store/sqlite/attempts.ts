import type { SqliteDatabase } from "../../runtime/sqlite.ts";
import { ATTEMPT_COLUMNS, type AttemptRow, attemptRow, toAttempt } from "../sql/attempts.ts";
import { type Attempt, ATTEMPTS_KEPT, type NewAttempt } from "../webhook.ts";
import { PURGE_STEP } from "../sql/subscriptions.ts";
import { rowValues } from "./database.ts";

/** Removes some of the attempts of the deleted subscription with the number `$1`. */
export const PURGE_ATTEMPTS = `
  DELETE FROM attempt WHERE place IN (
    SELECT place FROM attempt WHERE place >= $1 * ${ATTEMPTS_KEPT} AND place < ($1 + 1) * ${ATTEMPTS_KEPT}
    LIMIT ${PURGE_STEP})`;

/** The ring of attempts of each subscription, by its number. */
export interface SqliteAttempts {
  /** Replaces the attempt `ATTEMPTS_KEPT` before it, within the transaction that records the ordinal. */
  write(subscription: number, ordinal: number, attempt: NewAttempt): void;
  /** Newest first, with ordinals up to `newest`. */
  list(subscription: number, newest: number, limit: number): Attempt[];
  /** Removes the attempts before this time. Returns their number. */
  prune(subscription: number, beforeMs: number): number;
}

export function sqliteAttempts(database: SqliteDatabase): SqliteAttempts {
  const insert = database.prepare(`
    INSERT OR REPLACE INTO attempt (place, ${ATTEMPT_COLUMNS})
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const list = database.prepare<AttemptRow>(`
    SELECT * FROM attempt WHERE place >= ? AND place <= ? AND ordinal <= ? ORDER BY place DESC LIMIT ?`);
  const prune = database.prepare(
    `DELETE FROM attempt WHERE place >= ?1 * ${ATTEMPTS_KEPT} AND place < (?1 + 1) * ${ATTEMPTS_KEPT} AND at_ms < ?2`,
  );

  return {
    write(subscription, ordinal, attempt) {
      insert.run(placeOf(subscription, ordinal), ...rowValues(attemptRow(attempt, ordinal)));
    },
    list(subscription, newest, limit) {
      if (newest < 1) return [];
      const begin = subscription * ATTEMPTS_KEPT;
      const place = placeOf(subscription, newest);
      const rows = list.all(begin, place, newest, limit);
      // The ring continues at its end.
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

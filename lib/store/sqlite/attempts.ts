import { ATTEMPT_COLUMNS, type AttemptRow, attemptRow, toAttempt } from "../sql/attempts.ts";
import type { Statement } from "../sql/database.ts";
import type { MadeAttempts } from "../sql/settling.ts";
import { PURGE_STEP } from "../sql/subscriptions.ts";
import { type Attempt, ATTEMPTS_KEPT } from "../webhook.ts";
import type { SqliteContext } from "./database.ts";

/** Removes some of the attempts of the deleted subscription with the number `$1`. */
export const PURGE_ATTEMPTS = `
  DELETE FROM attempt WHERE place IN (
    SELECT place FROM attempt WHERE place >= $1 * ${ATTEMPTS_KEPT} AND place < ($1 + 1) * ${ATTEMPTS_KEPT}
    LIMIT ${PURGE_STEP})`;

/** The ring of attempts of each subscription, by its number. */
export interface SqliteAttempts {
  /** Each replaces the attempt `ATTEMPTS_KEPT` before it, within the transaction that records the ordinal. */
  write(made: MadeAttempts[]): Statement<never>[];
  /** Newest first, with ordinals up to `newest`. */
  list(subscription: number, newest: number, limit: number): Attempt[];
  /** Removes the attempts before this time. Returns their number. */
  prune(subscription: number, beforeMs: number): number;
}

export function sqliteAttempts({ database, sql }: SqliteContext): SqliteAttempts {
  const columns = `place, ${ATTEMPT_COLUMNS}`;
  const insert = sql.prepare<never>(
    `INSERT OR REPLACE INTO attempt (${columns}) VALUES (${columns.split(",").map((_, n) => `$${n + 1}`).join(", ")})`,
  );
  const list = database.prepare<AttemptRow>(`
    SELECT * FROM attempt WHERE place >= ? AND place <= ? AND ordinal <= ? ORDER BY place DESC LIMIT ?`);
  const prune = database.prepare(
    `DELETE FROM attempt WHERE place >= ?1 * ${ATTEMPTS_KEPT} AND place < (?1 + 1) * ${ATTEMPTS_KEPT} AND at_ms < ?2`,
  );

  return {
    write(made) {
      return made.flatMap(({ subscription, newest, attempts }) =>
        attempts.map((attempt, n) => {
          const ordinal = newest + n + 1;
          return insert(placeOf(subscription, ordinal), ...Object.values(attemptRow(attempt, ordinal)));
        })
      );
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

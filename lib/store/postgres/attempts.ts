import { ATTEMPT_COLUMNS, attemptRow } from "../sql/attempts.ts";
import { PURGE_STEP } from "../sql/subscriptions.ts";
import { ATTEMPTS_KEPT, type NewAttempt } from "../webhook.ts";
import type { Queries } from "./database.ts";

/** Removes some of the attempts of the deleted subscription with the number `$1`. */
export function purgeAttempts(prefix: string): string {
  return `DELETE FROM ${prefix}attempt WHERE subscription = $1 AND ordinal IN (
    SELECT ordinal FROM ${prefix}attempt WHERE subscription = $1 ORDER BY ordinal LIMIT ${PURGE_STEP})`;
}

/** New attempts of one subscription. */
export interface MadeAttempts {
  subscription: number;
  /** The newest ordinal before them. */
  newest: number;
  attempts: NewAttempt[];
}

/**
 * The oldest attempts go in lots of this size, each by a statement with a plain range. A join with many ranges would read the
 * whole table. While any transaction is open, that table grows.
 */
const REMOVED_AT_ONCE = 200;

/** With so many attempts, the last ordinal to remove: complete lots beyond `ATTEMPTS_KEPT`. */
const removedOf = (newest: number) =>
  Math.max(0, Math.floor((newest - ATTEMPTS_KEPT) / REMOVED_AT_ONCE) * REMOVED_AT_ONCE);

/** Writes attempts and removes the oldest lots beyond `ATTEMPTS_KEPT`, within a transaction that has locked the progress. */
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
    // Begins at the end of the last lot, so that it does not read dead rows again.
    ...oldest.map(({ subscription, above, upTo }) =>
      queries.write(
        `DELETE FROM ${prefix}attempt WHERE subscription = $1 AND ordinal > $2 AND ordinal <= $3`,
        [subscription, above, upTo],
      )
    ),
  ]);
}

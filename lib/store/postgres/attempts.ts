import { ATTEMPT_COLUMNS, attemptRow } from "../sql/attempts.ts";
import { PURGE_STEP } from "../sql/subscriptions.ts";
import type { Sql, Statement } from "../sql/database.ts";
import type { MadeAttempts } from "../sql/settling.ts";
import { ATTEMPTS_KEPT } from "../webhook.ts";

/** Removes some of the attempts of the deleted subscription with the number `$1`. */
export function purgeAttempts(prefix: string): string {
  return `DELETE FROM ${prefix}attempt WHERE subscription = $1 AND ordinal IN (
    SELECT ordinal FROM ${prefix}attempt WHERE subscription = $1 ORDER BY ordinal LIMIT ${PURGE_STEP})`;
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
export function attemptWriter({ prefix, prepare, given }: Sql): (made: MadeAttempts[]) => Statement<never>[] {
  const insert = prepare(
    `INSERT INTO ${prefix}attempt (subscription, ${ATTEMPT_COLUMNS}) SELECT subscription, ${ATTEMPT_COLUMNS} FROM ${
      given(
        "subscription bigint, ordinal bigint, replay_id text, event_id text, event_type text, number bigint, at_ms bigint, " +
          "duration_ms double precision, outcome text, status_code integer, error text, response_body text, " +
          "next_attempt_at_ms bigint",
      )
    }`,
  );
  // Begins at the end of the last lot, so that it does not read dead rows again.
  const remove = prepare(`DELETE FROM ${prefix}attempt WHERE subscription = $1 AND ordinal > $2 AND ordinal <= $3`);
  return (made) => {
    const rows = made.flatMap(({ subscription, newest, attempts }) =>
      attempts.map((attempt, n) => ({ subscription, ...attemptRow(attempt, newest + n + 1) }))
    );
    const removals = made.flatMap(({ subscription, newest, attempts }) => {
      const [above, upTo] = [removedOf(newest), removedOf(newest + attempts.length)];
      return upTo > above ? [remove(subscription, above, upTo)] : [];
    });
    return rows.length === 0 ? [] : [insert(rows), ...removals];
  };
}

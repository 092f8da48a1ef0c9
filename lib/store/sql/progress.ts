import type { FailedDelivery } from "../webhook.ts";
import type { Sql, Statement } from "./database.ts";

/** The progress of one subscription. */
export interface ProgressRow {
  cursor: number;
  failing_since_ms: number | null;
  retrying: number;
  rejected: number;
  dead: number;
  rejected_kept: number;
  dead_kept: number;
  attempts: number;
}

/** The stored row. Each change raises its version. */
export interface KeptProgressRow extends ProgressRow {
  /** Of the subscription. */
  id: string;
  subscription: number;
  version: number;
}

export const KEPT_PROGRESS =
  "subscription, version, cursor, failing_since_ms, retrying, rejected, dead, rejected_kept, " +
  "dead_kept, attempts";

/** Counts one delivery more, or one less, in this state. */
export function count(row: ProgressRow, state: FailedDelivery["state"], change: 1 | -1): void {
  row[state] += change;
  if (state !== "retrying") row[`${state}_kept`] += change;
}

export function sqlProgress(sql: Sql) {
  const given = KEPT_PROGRESS.split(", ").map((column) => `${column} bigint`).join(", ");
  const write = sql.prepare(
    `UPDATE ${sql.prefix}progress AS kept SET version = kept.version + 1, cursor = given.cursor,
      failing_since_ms = given.failing_since_ms, retrying = given.retrying, rejected = given.rejected, dead = given.dead,
      rejected_kept = given.rejected_kept, dead_kept = given.dead_kept, attempts = given.attempts
    FROM ${sql.given(given)} WHERE kept.subscription = given.subscription AND kept.version = given.version`,
  );
  return {
    /** Selects and locks the progress of subscriptions, in the order of their numbers. So none waits for another in a circle. */
    lock: (where: string) =>
      `SELECT subscription.id, progress.* FROM (
        SELECT number, id FROM ${sql.prefix}subscription AS subscription WHERE ${where} ORDER BY number
      ) AS subscription JOIN ${sql.progress("UPDATE")}`,
    /** Writes locked rows. */
    write: (rows: KeptProgressRow[]): Statement<never> => write(rows),
  };
}

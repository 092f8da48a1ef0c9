import { PROGRESS_COLUMNS, type ProgressRow } from "../sql/deliveries.ts";
import { givenRows } from "./database.ts";

/** The stored row. Each change gives it a new key (schema.ts). */
export interface KeptProgressRow extends ProgressRow {
  subscription: number;
  version: number;
}

const KEPT_COLUMNS = `subscription, version, ${PROGRESS_COLUMNS}`;

/** The progress of `subscription` in the outer statement, as a lateral join. */
export function newestProgress(prefix: string, lock = ""): string {
  return `LATERAL (SELECT ${KEPT_COLUMNS} FROM ${prefix}progress AS kept WHERE kept.subscription = subscription.number
    ORDER BY kept.version DESC LIMIT 1 ${lock}) AS progress`;
}

/** Locks the progress of subscriptions in the order of their numbers. So none waits for another in a circle. */
export function lockProgress(prefix: string, where: string): string {
  return `SELECT subscription.id, progress.* FROM (
      SELECT number, id FROM ${prefix}subscription AS subscription WHERE ${where} ORDER BY number
    ) AS subscription CROSS JOIN ${newestProgress(prefix, "FOR UPDATE")}`;
}

const GIVEN_PROGRESS = KEPT_COLUMNS.split(", ").map((column) => `${column} bigint`).join(", ");

/** Writes locked rows of progress. */
export function writeProgress(prefix: string): string {
  return `UPDATE ${prefix}progress AS kept SET version = kept.version + 1, cursor = given.cursor,
      failing_since_ms = given.failing_since_ms, retrying = given.retrying, rejected = given.rejected, dead = given.dead,
      rejected_kept = given.rejected_kept, dead_kept = given.dead_kept, attempts = given.attempts
    FROM ${givenRows(GIVEN_PROGRESS)}
    WHERE kept.subscription = given.subscription AND kept.version = given.version`;
}

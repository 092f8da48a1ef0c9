import type { Settlement } from "./webhook_store.ts";

/** The bounds the interface states, checked alike by every driver: passing one is a fault of the caller, not of the store. */

/** @throws RangeError unless `limit` is an integer from 1 to `max` */
export function checkLimit(limit: number, max: number): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > max) {
    throw new RangeError(`limit must be an integer from 1 to ${max}, got ${limit}`);
  }
}

/** @throws RangeError when there are more than `max` items */
export function checkBatch(items: unknown[], max: number): void {
  if (items.length > max) throw new RangeError(`at most ${max} items fit in one call, got ${items.length}`);
}

/** Greater than any event position: the upper bound of a query that has none. */
export const END_OF_POSITIONS = "\u{10FFFF}";

/** @throws RangeError when there are more than 100, or one is to be retried at no time */
export function checkSettlements(settlements: Settlement[]): void {
  checkBatch(settlements, 100);
  for (const { attempt } of settlements) {
    if (attempt.outcome === "retry" && attempt.nextAttemptAtMs === null) {
      throw new RangeError("nextAttemptAtMs must be a time when the outcome is retry, got null");
    }
  }
}

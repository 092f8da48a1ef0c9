import type { FanOutCursor } from "./webhook_store.ts";

/** Whether fan-out stands where it was expected to. */
export function sameCursor(held: FanOutCursor | undefined, expected: FanOutCursor | undefined): boolean {
  return held?.position === expected?.position && held?.subscriptionId === expected?.subscriptionId &&
    held?.lastDueAtMs === expected?.lastDueAtMs;
}

/** Whether every subscription got the event at this position. */
export function hasPassed(cursor: FanOutCursor | undefined, position: string): boolean {
  if (cursor === undefined) return false;
  return cursor.subscriptionId === undefined ? position <= cursor.position : position < cursor.position;
}

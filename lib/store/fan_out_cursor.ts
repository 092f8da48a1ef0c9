import type { StoredEvent, WatcherState } from "./store.ts";
import type { FanOutCursor } from "./webhook_store.ts";

/** Whether fan-out stands where it was expected to. */
export function sameCursor(held: FanOutCursor | undefined, expected: FanOutCursor | undefined): boolean {
  return held?.position === expected?.position && held?.subscriptionId === expected?.subscriptionId &&
    held?.lastDueAtMs === expected?.lastDueAtMs && held?.rereads === expected?.rereads;
}

/** The cursor, for a fan-out that has to go back to it. Where nothing was handed on yet it stands before everything. */
export function raiseRereads(cursor: FanOutCursor = { position: "", lastDueAtMs: 0 }): FanOutCursor {
  return { ...cursor, rereads: (cursor.rereads ?? 0) + 1 };
}

/** Whether a slice has new events in ledgers that were scanned before it, or makes them count as not scanned. */
export function readsAgain(
  newEvents: StoredEvent[],
  { epoch, scannedLedger }: WatcherState,
  before: WatcherState | undefined,
): boolean {
  if (before?.epoch !== epoch) return false;
  return scannedLedger < before.scannedLedger || newEvents.some(({ ledger }) => ledger <= before.scannedLedger);
}

/** Whether every subscription got the event at this position. */
export function hasPassed(cursor: FanOutCursor | undefined, position: string): boolean {
  if (cursor === undefined) return false;
  return cursor.subscriptionId === undefined ? position <= cursor.position : position < cursor.position;
}

import type { ClosedLedger } from "../network_types.ts";

/** Calls back after `delayMs`. Returns the function that cancels the call. */
export type Schedule = (callback: () => void, delayMs: number) => () => void;

export const scheduleWithTimers: Schedule = (callback, delayMs) => {
  const timer = setTimeout(callback, delayMs);
  return () => clearTimeout(timer);
};

/** An idle network closes empty ledgers, because a node with a ledger older than 30 s counts as unhealthy. */
export const IDLE_MS = 5_000;
/** Pause after a ledger that could not be closed. */
const RETRY_MS = 1_000;

export interface TickerOptions {
  /** Milliseconds between ledgers. With 0 a transaction closes one at once. */
  ledgerMs: number;
  now: () => number;
  schedule: Schedule;
  /** @param inTime whether the ledger was due, or closes by hand */
  close: (inTime: boolean) => ClosedLedger;
  /** Called when a due ledger cannot close. The ticker retries. */
  onFailure: (error: unknown) => void;
  /** Whether a transaction waits for the next ledger. */
  hasWaiting: () => boolean;
}

/** Closes ledgers at the network's pace, or at once and when idle. */
export function createTicker({ ledgerMs, now, schedule, close, onFailure, hasWaiting }: TickerOptions) {
  let cancel = () => {};
  let closesAtOnce = false;
  let stopped = false;
  let dueAt = now();

  function arm(leastMs = 0) {
    cancel();
    if (stopped) return;
    closesAtOnce = hasWaiting();
    if (ledgerMs === 0) {
      cancel = schedule(closeInTime, Math.max(leastMs, closesAtOnce ? 0 : IDLE_MS));
      return;
    }
    // Counts from the last due time, so that delays do not add up. It skips missed ledgers. A ledger closed by hand, or a
    // clock set back, does not delay the next one.
    const nowMs = now();
    dueAt = Math.min(Math.max(dueAt + ledgerMs, nowMs + leastMs), nowMs + Math.max(ledgerMs, leastMs));
    cancel = schedule(closeInTime, dueAt - nowMs);
  }

  function closeAndArm(inTime: boolean): ClosedLedger {
    let leastMs = RETRY_MS;
    try {
      const ledger = close(inTime);
      leastMs = 0;
      return ledger;
    } finally {
      arm(leastMs);
    }
  }

  function closeInTime(): void {
    try {
      closeAndArm(true);
    } catch (error) {
      onFailure(error);
    }
  }

  arm();
  return {
    /** Closes a ledger now. The next one is due at most `ledgerMs` later. */
    closeNow: () => closeAndArm(false),
    /** Call it after closing a ledger without the ticker. The next one is due at most `ledgerMs` later. */
    closedOtherwise: () => arm(),
    /** In at-once mode a ledger closes right after. Transactions until then share it. */
    transactionArrived() {
      if (ledgerMs !== 0 || closesAtOnce || stopped) return;
      closesAtOnce = true;
      cancel();
      cancel = schedule(closeInTime, 0);
    },
    stop() {
      stopped = true;
      cancel();
    },
  };
}

import type { ClosedLedger } from "../network_types.ts";

/** Calls back after so many milliseconds; answers how to call it off. */
export type Schedule = (callback: () => void, delayMs: number) => () => void;

export const scheduleWithTimers: Schedule = (callback, delayMs) => {
  const timer = setTimeout(callback, delayMs);
  return () => clearTimeout(timer);
};

/** A node whose last ledger is older than 30 s counts as unhealthy, so an idle one closes empty ledgers. */
export const IDLE_MS = 5_000;
/** When a ledger could not be closed, the next try comes no sooner. */
const RETRY_MS = 1_000;

export interface TickerOptions {
  /** Time between ledgers; 0: close when a transaction arrives. */
  ledgerMs: number;
  now: () => number;
  schedule: Schedule;
  /** @param inTime whether the ledger was due; false: it is closed by hand */
  close: (inTime: boolean) => ClosedLedger;
  /** Told what kept a ledger that was due from closing; it is tried again. */
  onFailure: (error: unknown) => void;
  /** Whether a transaction waits for the next ledger. */
  hasWaiting: () => boolean;
}

/** Closes ledgers in time, or at once and when idle. */
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
    // Counted from when the last one was due, so that delays do not add up. Ledgers that were slept through are not made up
    // for, and one that was closed by hand, or a clock that was set back, does not put the next one off.
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
    /** Closes a ledger now; the next one is due at most `ledgerMs` later. */
    closeNow: () => closeAndArm(false),
    /** To be told of ledgers that were closed past the ticker: the next one is due at most `ledgerMs` later. */
    closedOtherwise: () => arm(),
    /** In at-once mode the ledger closes right after; what arrives until then shares it. */
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

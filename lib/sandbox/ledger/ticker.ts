import type { ClosedLedger } from "../network_types.ts";

/** Calls back after so many milliseconds; answers how to call it off. */
export type Schedule = (callback: () => void, delayMs: number) => () => void;

export const scheduleWithTimers: Schedule = (callback, delayMs) => {
  const timer = setTimeout(callback, delayMs);
  return () => clearTimeout(timer);
};

/** A node whose last ledger is older than 30 s counts as unhealthy, so an idle one closes empty ledgers. */
const IDLE_MS = 5_000;

export interface TickerOptions {
  /** Time between ledgers; 0: close when a transaction arrives. */
  ledgerMs: number;
  now: () => number;
  schedule: Schedule;
  close: () => ClosedLedger;
  /** Whether a transaction waits for the next ledger. */
  hasWaiting: () => boolean;
}

/** Closes ledgers in time, or at once and when idle. */
export function createTicker({ ledgerMs, now, schedule, close, hasWaiting }: TickerOptions) {
  let cancel = () => {};
  let closesAtOnce = false;
  let stopped = false;
  let dueAt = now() + ledgerMs;

  function arm() {
    cancel();
    if (stopped) return;
    closesAtOnce = hasWaiting();
    if (ledgerMs === 0) {
      cancel = schedule(closeNow, closesAtOnce ? 0 : IDLE_MS);
      return;
    }
    // Counted from when the last one was due: delays do not add up, but ledgers that were slept through are not made up for.
    dueAt = Math.max(dueAt + ledgerMs, now());
    cancel = schedule(closeNow, dueAt - now());
  }

  function closeNow(): ClosedLedger {
    try {
      return close();
    } finally {
      arm();
    }
  }

  dueAt -= ledgerMs;
  arm();
  return {
    closeNow,
    /** In at-once mode the ledger closes right after; what arrives until then shares it. */
    transactionArrived() {
      if (ledgerMs !== 0 || closesAtOnce || stopped) return;
      closesAtOnce = true;
      cancel();
      cancel = schedule(closeNow, 0);
    },
    stop() {
      stopped = true;
      cancel();
    },
  };
}

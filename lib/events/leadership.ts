/*
 * Decides which gateway of a shared store writes the log, and what a follower takes from the leader. `log_writer.ts`
 * has the lease; `watcher.ts` calls this first in each poll.
 */

import type { Clock } from "../clock.ts";
import type { Head } from "../stellar/head.ts";
import type { Store, WatcherState } from "../store/store.ts";
import type { LogWriter } from "./log_writer.ts";

/** The leader writes the log; followers take its head. */
export interface Leadership {
  /**
   * Takes or renews the lease. Returns false when another gateway leads. `mayLeave`: whether this one may leave the
   * lease to others for now.
   */
  take(mayLeave: boolean): Promise<boolean>;
  /** Looks for commits of the leader. Calls `onNew` when there are new events. */
  follow(onNew: () => void): Promise<void>;
  /** Takes the stored head, of any gateway. */
  takeHead(state: WatcherState | undefined): void;
  /** Records an own commit, whose head is not new. */
  committed(): void;
  /** Gives the lease up when this leader has made no progress for a minute: other gateways' nodes may be well. */
  polled(isWell: boolean): Promise<void>;
}

const STALLED_MS = 60_000;
/** A stopped node looks like a network that rests. */
const STILL_MS = 600_000;
/** How long, or two polls, it leaves the lease to others. */
const LEFT_MS = 5_000;

export function createLeadership({ store, head, clock: { monotonicMs }, log, epoch: startEpoch, pollMs }: {
  store: Pick<Store, "events" | "isShared">;
  head: Pick<Head, "observe" | "restart">;
  clock: Pick<Clock, "monotonicMs">;
  log: Pick<LogWriter, "open" | "close" | "state">;
  epoch: number | undefined;
  pollMs: number;
}): Leadership {
  const stored = { epoch: startEpoch, ledger: 0 };
  let lastSequence = 0;
  /** Since when polls fail, and when which ledger was reached. */
  const progress = { failingSinceMs: Infinity, ledger: 0, atMs: monotonicMs() };
  let leftUntilMs = -Infinity;

  function takeHead(state: WatcherState | undefined): void {
    if (state === undefined) return;
    const ledger = { sequence: state.latestLedger, closeTime: state.latestLedgerCloseTime };
    if (stored.epoch !== undefined && stored.epoch !== state.epoch) head.restart(ledger);
    // An unchanged head tells nothing of newer ledgers.
    else if (state.latestLedger > stored.ledger) head.observe(ledger);
    stored.ledger = ledger.sequence;
    stored.epoch = state.epoch;
  }

  return {
    takeHead,
    async take(mayLeave) {
      if (store.isShared && mayLeave && monotonicMs() < leftUntilMs) return false;
      const isLeader = await log.open();
      takeHead(log.state);
      return isLeader;
    },
    async follow(onNew) {
      const { last } = await store.events.bounds();
      if (last !== lastSequence) onNew();
      lastSequence = last;
    },
    committed: () => takeHead(log.state),
    async polled(isWell) {
      const nowMs = monotonicMs();
      const ledger = log.state?.scannedLedger ?? 0;
      if (ledger !== progress.ledger) Object.assign(progress, { ledger, atMs: nowMs });
      progress.failingSinceMs = isWell ? Infinity : Math.min(progress.failingSinceMs, nowMs);
      const isStalled = nowMs - progress.failingSinceMs >= STALLED_MS || nowMs - progress.atMs >= STILL_MS;
      if (!store.isShared || !isStalled) return;
      Object.assign(progress, { failingSinceMs: Infinity, atMs: nowMs });
      leftUntilMs = monotonicMs() + Math.max(LEFT_MS, 2 * pollMs);
      await log.close();
    },
  };
}

import type { Clock } from "../clock.ts";
import type { Head } from "../stellar/head.ts";
import type { Store, WatcherState } from "../store/store.ts";
import type { LogWriter } from "./log_writer.ts";

/** Who writes the log where several gateways share a store, and what they take from one another. */
export interface Leadership {
  /** Takes or prolongs the lease; false: another gateway is the leader. `mayLeave`: whether this one leaves it to others for now. */
  take(mayLeave: boolean): Promise<boolean>;
  /** What the leader has committed: calls `onNew` where events have come. */
  follow(onNew: () => void): Promise<void>;
  /** The head of what is stored, by whichever gateway. */
  takeHead(state: WatcherState | undefined): void;
  /** This gateway has committed: its own head is no news. */
  committed(): void;
  /** A leader that comes no further for a minute gives the lease to others, whose nodes may do better. */
  polled(isWell: boolean): Promise<void>;
}

const STALLED_MS = 60_000;
/** A node that stands still looks like a network that rests. */
const STILL_MS = 600_000;
/** After this, or two polls, the lease is taken again if nobody else has it. */
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
  /** Since when polls fail, and which ledger was reached when. */
  const progress = { failingSinceMs: Infinity, ledger: 0, atMs: monotonicMs() };
  let leftUntilMs = -Infinity;

  function takeHead(state: WatcherState | undefined): void {
    if (state === undefined) return;
    const ledger = { sequence: state.latestLedger, closeTime: state.latestLedgerCloseTime };
    if (stored.epoch !== undefined && stored.epoch !== state.epoch) head.restart(ledger);
    // A head that stands still says nothing of what there is beyond.
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

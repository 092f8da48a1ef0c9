import type { Clock } from "../clock.ts";
import { createLoop } from "../loop.ts";
import type { Head } from "../stellar/head.ts";
import type { Store, WatcherState } from "../store/store.ts";

/**
 * Knowledge that the gateways on a store share. The newest confirmed ledger lets a read at another gateway show a confirmed
 * transaction.
 */
export interface SharedState {
  /** Publishes this gateway's latest ledger. Never rejects. */
  tellLedger(): Promise<void>;
  /** Reads the latest ledger of the other gateways. Never rejects. */
  look(): Promise<void>;
  /** Begins to look twice a second. */
  start(): void;
  stop(): Promise<void>;
}

export interface SharedStateParts {
  store: Pick<Store, "sharedState" | "events">;
  head: Head;
  clock: Clock;
  /** Called at each look while the log lacks the events of a ledger that a gateway has seen. */
  onUnread(): void;
  onProblem(message: string, cause: unknown): void;
}

/** A ledger that a gateway has seen. */
interface SeenLedger {
  epoch: number;
  sequence: number;
  /** Unix seconds; null while unknown. */
  closeTime: number | null;
}

type NewestStored = Pick<WatcherState, "epoch" | "latestLedger" | "latestLedgerCloseTime">;

const NOTHING_STORED: NewestStored = { epoch: 0, latestLedger: 0, latestLedgerCloseTime: 0 };
const LEDGER = "ledger";
const LOOK_MS = 500;
/** After that the watcher's state is as new, and a starting gateway uses it. */
const LEDGER_KEPT_MS = 60_000;

export function createSharedState(parts: SharedStateParts): SharedState {
  const { store: { sharedState, events }, head, clock, onUnread, onProblem } = parts;
  let observed: SeenLedger | undefined;
  /** At the last look the log lacked its events. */
  let isUnread = false;
  let isReported = false;

  /** The newer ledger by close time: a gateway that was frozen during a reset still has the head of the former epoch. */
  function newest({ epoch, latestLedger, latestLedgerCloseTime }: NewestStored): SeenLedger {
    const { sequence, closeTime, isTimed } = head;
    if (latestLedgerCloseTime > closeTime) return { epoch, sequence: latestLedger, closeTime: latestLedgerCloseTime };
    return { epoch, sequence, closeTime: isTimed ? closeTime : null };
  }

  function isHigher(one: SeenLedger, other: SeenLedger | undefined): boolean {
    if (other === undefined || one.epoch !== other.epoch) return one.epoch > (other?.epoch ?? -1);
    return one.sequence > other.sequence;
  }

  /** Reports the first failure only: the store reports its own errors. */
  async function attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      isReported = false;
    } catch (cause) {
      if (!isReported) onProblem("sharing new ledgers with the other gateways failed; retrying", cause);
      isReported = true;
    }
  }

  const look = () =>
    attempt(async () => {
      const seen = await sharedState.read<SeenLedger>(LEDGER);
      if (seen === undefined || !(isUnread || isHigher(seen, observed))) return;
      const { epoch, scannedLedger } = await events.watcherState() ?? { epoch: 0, scannedLedger: 0 };
      if (seen.epoch !== epoch) return;
      if (isHigher(seen, observed)) {
        head.observe({ sequence: seen.sequence, closeTime: seen.closeTime ?? undefined });
        head.confirm(seen.sequence);
      }
      observed = seen;
      isUnread = seen.sequence > scannedLedger;
      if (isUnread) onUnread();
    });

  const loop = createLoop({
    async step() {
      await look();
      return LOOK_MS;
    },
    wait: clock.wait,
    onProblem: () => {},
  });

  return {
    tellLedger: () =>
      attempt(async () => {
        const seen = newest(await events.watcherState() ?? NOTHING_STORED);
        await sharedState.change(LEDGER, (before: SeenLedger | undefined) => {
          return { value: isHigher(seen, before) ? seen : undefined, keepMs: LEDGER_KEPT_MS, answer: undefined };
        });
      }),
    look,
    start: loop.start,
    stop: loop.stop,
  };
}

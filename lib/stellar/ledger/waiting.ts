import type { Clock } from "../../clock.ts";
import type { RpcClient } from "../rpc/client.ts";
import type { LedgerView } from "./ledger_view.ts";

export interface LedgerWait {
  /** Resolves when a ledger above `sequence` has been seen, or after `timeoutMs`; never rejects. */
  after(sequence: number, timeoutMs: number): Promise<void>;
}

const FIRST_POLL_MS = 3;
const LONGEST_POLL_MS = 1_000;
/** Each poll comes half the time later that was waited already. */
const PATIENCE = 2;

/**
 * Waiting for the next ledger. However many wait, one poll of the node serves them all: quick at first, for a network
 * that closes at once, then once a second.
 */
export function createLedgerWait({ rpc, view, clock: { monotonicMs, wait } }: {
  rpc: RpcClient;
  view: LedgerView;
  clock: Clock;
}): LedgerWait {
  const waiters = new Set<{ sequence: number; wake: () => void }>();
  let polling = false;

  view.onNews((sequence) => {
    for (const waiter of waiters) if (waiter.sequence !== sequence) waiter.wake();
  });

  async function poll(): Promise<void> {
    if (polling) return;
    polling = true;
    let startedAtMs = monotonicMs();
    let sequence = view.sequence;
    while (waiters.size > 0) {
      const waitedMs = monotonicMs() - startedAtMs;
      await wait(Math.min(LONGEST_POLL_MS, Math.max(FIRST_POLL_MS, waitedMs / PATIENCE)));
      if (waiters.size === 0) break;
      // A node that fails now may answer at the next poll; the waiters have time-outs of their own.
      await rpc.getLatestLedger().catch(() => undefined);
      if (view.sequence !== sequence) [sequence, startedAtMs] = [view.sequence, monotonicMs()];
    }
    polling = false;
  }

  return {
    async after(sequence, timeoutMs) {
      if (view.sequence > sequence) return;
      const timerEnds = new AbortController();
      await new Promise<void>((resolve) => {
        const waiter = { sequence, wake: () => resolve() };
        waiters.add(waiter);
        timerEnds.signal.addEventListener("abort", () => waiters.delete(waiter), { once: true });
        void wait(timeoutMs, timerEnds.signal).then(resolve);
        void poll();
      });
      timerEnds.abort();
    },
  };
}

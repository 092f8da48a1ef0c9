import type { Wait } from "../../clock.ts";
import type { RpcClient } from "../rpc/rpc.ts";
import type { LedgerTip } from "./tip.ts";

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
export function createLedgerWait({ rpc, tip, now, wait }: {
  rpc: RpcClient;
  tip: LedgerTip;
  now: () => number;
  wait: Wait;
}): LedgerWait {
  const waiters = new Set<{ sequence: number; wake: () => void }>();
  let polling = false;

  tip.onChange((sequence) => {
    for (const waiter of waiters) if (waiter.sequence !== sequence) waiter.wake();
  });

  async function poll(): Promise<void> {
    if (polling) return;
    polling = true;
    let startedAtMs = now();
    let sequence = tip.sequence;
    while (waiters.size > 0) {
      const waitedMs = now() - startedAtMs;
      await wait(Math.min(LONGEST_POLL_MS, Math.max(FIRST_POLL_MS, waitedMs / PATIENCE)));
      if (waiters.size === 0) break;
      // A node that fails now may answer at the next poll; the waiters have time-outs of their own.
      await rpc.getLatestLedger().catch(() => undefined);
      if (tip.sequence !== sequence) [sequence, startedAtMs] = [tip.sequence, now()];
    }
    polling = false;
  }

  return {
    async after(sequence, timeoutMs) {
      if (tip.sequence > sequence) return;
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

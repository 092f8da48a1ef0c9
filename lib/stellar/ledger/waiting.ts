import type { Clock } from "../../clock.ts";
import { GatewayError } from "../../errors.ts";
import type { RpcClient } from "../rpc/client.ts";
import { rethrowUpstream } from "./freshness.ts";
import { askForTime } from "./ledger_time.ts";
import type { LedgerView } from "./ledger_view.ts";

export interface LedgerWait {
  /** Resolves when a ledger above `sequence` has been seen, or after `timeoutMs`; never rejects. */
  after(sequence: number, timeoutMs: number): Promise<void>;
  /**
   * The network's time, Unix seconds, once there is no reason any more to doubt it: in the first seconds after a start
   * there is one, where our own clock disagrees. Where no node says a time, ours has to do.
   * @throws {GatewayError} `upstream_error` when it has not shown after some seconds which is right, or no node answers
   */
  certainTime(): Promise<number>;
}

const FIRST_POLL_MS = 3;
const LONGEST_POLL_MS = 1_000;
/** Each poll comes half the time later that was waited already. */
const PATIENCE = 2;
/** A claim is confirmed by another one a second later. */
const CONFIRM_MS = 1_100;
/** By then a network that does not rest has closed a ledger, and of one that does that has shown. */
const CLAIMS_OF_TIME = 12;

/**
 * Waiting for the next ledger, and for the time. However many wait, one poll of the
 * node serves them all: quick at first, for a network that closes at once, then once a second.
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

  let certain: Promise<number> | undefined;

  async function untilTimeCertain(): Promise<number> {
    for (let claims = 0; claims < CLAIMS_OF_TIME && view.timeDoubt() !== undefined; claims++) {
      if (claims > 0) await wait(CONFIRM_MS);
      await askForTime(rpc).catch(rethrowUpstream);
      if (view.timeDoubt() === "unheard") return view.networkSeconds();
    }
    if (view.timeDoubt() === undefined) return view.networkSeconds();
    const message =
      "the network's time is not certain yet: the RPC node and this machine's clock disagree; try again in a few seconds";
    throw new GatewayError("upstream_error", message, { headers: { "Retry-After": "2" } });
  }

  return {
    async certainTime() {
      // At once: a clock that is moved a moment later makes no time that nobody has looked at.
      if (view.timeDoubt() === undefined) return view.networkSeconds();
      return await (certain ??= untilTimeCertain().finally(() => certain = undefined));
    },
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

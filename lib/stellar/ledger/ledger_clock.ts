import type { Clock } from "../../clock.ts";
import type { RpcClient } from "../rpc/client.ts";

/** What a ledger that is still to come can be dated by. */
export interface LedgerTimes {
  /** Close time of the newest ledger, Unix seconds. */
  seconds: number;
  /** Seconds from one ledger to the next, on average. */
  pace: number;
}

export interface LedgerClock {
  /** @throws {GatewayError} `upstream_error` when no node says when the newest ledger closed */
  now(): Promise<LedgerTimes>;
}

/** What the public network aims at. */
const USUAL_PACE = 5;
const CACHED_MS = 600_000;

/** The ledgers' time and pace: the average over what the node holds, looked at every ten minutes. */
export function createLedgerClock({ rpc, clock, ledgerTime }: {
  rpc: Pick<RpcClient, "getHealth">;
  clock: Pick<Clock, "monotonicMs">;
  ledgerTime(): number | Promise<number>;
}): LedgerClock {
  let pace = USUAL_PACE;
  let cachedUntilMs = -Infinity;

  /** A node that does not say it, or can't be asked, leaves the pace as it is. */
  async function lookAtPace(): Promise<void> {
    cachedUntilMs = clock.monotonicMs() + CACHED_MS;
    const health = await rpc.getHealth().catch(() => undefined);
    const { latestLedger, oldestLedger, latestLedgerCloseTime: latest, oldestLedgerCloseTime: oldest } = health ?? {};
    if (latest === undefined || oldest === undefined || latestLedger! <= oldestLedger!) return;
    const average = (latest - oldest) / (latestLedger! - oldestLedger!);
    if (average > 0) pace = average;
  }

  return {
    async now() {
      if (clock.monotonicMs() >= cachedUntilMs) await lookAtPace();
      return { seconds: await ledgerTime(), pace };
    },
  };
}

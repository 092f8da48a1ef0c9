import type { Clock } from "../../clock.ts";
import type { RpcClient } from "../rpc/client.ts";
import type { LedgerView } from "./ledger_view.ts";

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
/** After an answer that is of no use. */
const PAUSE_MS = 5_000;

/** The ledgers' time and pace: the average over what the node holds, looked at every ten minutes. */
export function createLedgerClock({ rpc, view, clock, ledgerTime }: {
  rpc: Pick<RpcClient, "getHealth">;
  view: Pick<LedgerView, "sequence" | "closeTime">;
  clock: Pick<Clock, "monotonicMs">;
  ledgerTime(): number | Promise<number>;
}): LedgerClock {
  let pace = USUAL_PACE;
  let cachedUntilMs = -Infinity;

  /** A node that does not say it, can't be asked, or speaks of another ledger than is believed, leaves the pace as it is. */
  async function lookAtPace(): Promise<void> {
    cachedUntilMs = clock.monotonicMs() + PAUSE_MS;
    const health = await rpc.getHealth().catch(() => undefined);
    const { latestLedger, oldestLedger, latestLedgerCloseTime: latest, oldestLedgerCloseTime: oldest } = health ?? {};
    if (latestLedger !== view.sequence || latest !== view.closeTime) return;
    cachedUntilMs = clock.monotonicMs() + CACHED_MS;
    if (oldest === undefined || latestLedger <= oldestLedger!) return;
    const average = (latest - oldest) / (latestLedger - oldestLedger!);
    if (average > 0) pace = average;
  }

  return {
    async now() {
      if (clock.monotonicMs() >= cachedUntilMs) await lookAtPace();
      return { seconds: await ledgerTime(), pace };
    },
  };
}

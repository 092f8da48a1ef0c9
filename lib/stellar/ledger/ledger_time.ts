import type { RpcClient } from "../rpc/rpc.ts";
import { rethrowUpstream } from "./freshness.ts";
import type { LedgerTip } from "./tip.ts";

/**
 * Close time of the newest ledger, Unix seconds: what a contract would take for now. The node is asked only when the
 * newest ledger was seen in an answer without a time; a node that never says one is stood in for by the local clock.
 */
export function createLedgerTime({ rpc, tip, now }: {
  rpc: RpcClient;
  tip: LedgerTip;
  now: () => number;
}): () => number | Promise<number> {
  let asked: Promise<number> | undefined;

  async function ask(): Promise<number> {
    await rpc.getLatestLedger().catch(rethrowUpstream);
    // An older node says its time here, if anywhere; one that does not is not the worse for it.
    if (!tip.closeTimeIsExact) await rpc.getHealth().catch(() => undefined);
    return tip.closeTime === 0 ? Math.floor(now() / 1000) : tip.closeTime;
  }

  return () => {
    if (tip.closeTimeIsExact) return tip.closeTime;
    asked ??= ask().finally(() => asked = undefined);
    return asked;
  };
}

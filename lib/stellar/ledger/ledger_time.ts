import type { RpcClient } from "../rpc/client.ts";
import type { CallOptions } from "../rpc/nodes.ts";
import { rethrowUpstream } from "./freshness.ts";
import type { LedgerView } from "./ledger_view.ts";

/**
 * Has a node say its newest ledger with the close time: only such a claim confirms a ledger, or corrects the view. Older
 * nodes say one in getLatestLedger alone. Answers that time, Unix seconds; rejects with what the node failed with.
 */
export async function askForTime(
  rpc: Pick<RpcClient, "getHealth" | "getLatestLedger">,
  options: CallOptions = {},
): Promise<number | undefined> {
  const { latestLedgerCloseTime } = await rpc.getHealth(options);
  return latestLedgerCloseTime ?? (await rpc.getLatestLedger(options)).closeTime;
}

/**
 * Close time of the newest ledger, Unix seconds: what a contract would take for now. The node is asked only when the
 * newest ledger was seen in an answer without a time; where no node says one, by the network's time as the view reckons it.
 */
export function createLedgerTime({ rpc, view }: {
  rpc: RpcClient;
  view: LedgerView;
}): () => number | Promise<number> {
  let asked: Promise<number> | undefined;

  async function ask(): Promise<number> {
    await rpc.getLatestLedger().catch(rethrowUpstream);
    // An older node says its time here, if anywhere; one that does not is not the worse for it.
    if (!view.closeTimeIsExact) await rpc.getHealth().catch(() => undefined);
    return view.closeTime === 0 ? view.networkSeconds() : view.closeTime;
  }

  return () => {
    if (view.closeTimeIsExact) return view.closeTime;
    asked ??= ask().finally(() => asked = undefined);
    return asked;
  };
}

import type { Clock } from "../clock.ts";
import type { LedgerView } from "../stellar/ledger/ledger_view.ts";
import type { NodesRpcClient } from "../stellar/rpc/client.ts";
import { RpcError } from "../stellar/rpc/json_rpc.ts";
import type { LedgerHash, WatcherState } from "../store/store.ts";

/**
 * Whether a node has this ledger, with this hash; one that does not know the method has none. Rejects when it does not tell.
 */
export async function hasLedger(
  rpc: Pick<NodesRpcClient, "getLedgers">,
  { ledger, hash }: LedgerHash,
  options: { node: number; signal: AbortSignal },
): Promise<boolean> {
  try {
    const { ledgers } = await rpc.getLedgers({ startLedger: ledger, limit: 1 }, options);
    return ledgers.some((one) => one.sequence === ledger && one.hash === hash);
  } catch (error) {
    if (error instanceof RpcError && (error.range !== undefined || error.kind === "unknown_method")) return false;
    throw error;
  }
}

/**
 * Whether a node shows the network before the last reset, which it has to deny twice: one answer may be wrong. False where it
 * can't be told. Rejects when the node does not tell.
 */
export async function isOfFormer(
  rpc: Pick<NodesRpcClient, "getLedgers">,
  { formerAnchor }: Pick<WatcherState, "formerAnchor">,
  options: { node: number; signal: AbortSignal },
): Promise<boolean> {
  if (formerAnchor === undefined) return false;
  const ask = () => hasLedger(rpc, formerAnchor, options);
  return await ask() || await ask();
}

/**
 * The same, also of a node that tells no hashes, as where its operator does not offer them: one that shows a ledger as new as
 * any that was read is not of the network before. Rejects when neither tells.
 */
export async function showsFormerNetwork(
  rpc: Pick<NodesRpcClient, "getLedgers" | "getHealth">,
  state: Pick<WatcherState, "formerAnchor" | "latestLedgerCloseTime">,
  options: { node: number; signal: AbortSignal },
): Promise<boolean> {
  try {
    return await isOfFormer(rpc, state, options);
  } catch (error) {
    const { latestLedgerCloseTime = 0 } = await rpc.getHealth(options);
    const isOfNow = latestLedgerCloseTime > 0 && latestLedgerCloseTime >= (state.latestLedgerCloseTime || Infinity);
    if (isOfNow) return false;
    throw error;
  }
}

/**
 * Whether a node shows the network before the last reset, and has closed no ledger since: one that has may show a network that
 * was brought back. Rejects when it does not tell.
 */
export async function stillShowsFormer(
  rpc: Pick<NodesRpcClient, "getLedgers" | "getHealth">,
  state: Pick<WatcherState, "formerAnchor" | "latestLedgerCloseTime">,
  options: { node: number; signal: AbortSignal },
): Promise<boolean> {
  if (!(await isOfFormer(rpc, state, options))) return false;
  const { latestLedgerCloseTime = 0 } = await rpc.getHealth(options);
  return latestLedgerCloseTime <= state.latestLedgerCloseTime;
}

/**
 * Tells whether the node in use shows the network before its last reset again, by the hash of a ledger of that one: nothing
 * of it is to be read as new. Looked at where what is believed was overturned, for as long as it is so, and where ledgers
 * that come next are said to be gone (`isPruned`). False where it can't be told. Rejects while a node does not tell, and is
 * waited for.
 */
export function createFormerNetworkCheck({ rpc, view, clock, patienceMs }: {
  rpc: Pick<NodesRpcClient, "getLedgers" | "nodes">;
  view: Pick<LedgerView, "overturned" | "confirmed">;
  clock: Clock;
  /** How long a node that does not tell is waited for. */
  patienceMs(): number;
}): (state: WatcherState, options: { isPruned?: boolean; signal: AbortSignal }) => Promise<boolean> {
  /** What was believed had been overturned so often when the network was known not to be the former one. */
  let overturned = 0;
  /** Since when nodes have not told. */
  let failingSinceMs: number | undefined;

  /** Whether the node in use does. Undefined: it was waited for in vain. */
  async function isThere(formerAnchor: LedgerHash, signal: AbortSignal): Promise<boolean | undefined> {
    const node = Math.max(0, rpc.nodes().findIndex(({ inUse }) => inUse));
    try {
      const has = await isOfFormer(rpc, { formerAnchor }, { node, signal });
      failingSinceMs = undefined;
      return has;
    } catch (error) {
      const nowMs = clock.monotonicMs();
      failingSinceMs ??= nowMs;
      if (nowMs - failingSinceMs < patienceMs()) throw error;
      return undefined;
    }
  }

  return async function isShown({ formerAnchor, latestLedgerCloseTime }, { isPruned = false, signal }) {
    const { overturned: asOf } = view;
    const isAsked = asOf !== overturned || isPruned;
    // A network that has closed ledgers since is not the former one, whatever it was before.
    if (isAsked && formerAnchor !== undefined && view.confirmed.closeTime <= latestLedgerCloseTime) {
      const has = await isThere(formerAnchor, signal);
      if (has !== false) return has ?? false;
    }
    failingSinceMs = undefined;
    overturned = asOf;
    return false;
  };
}

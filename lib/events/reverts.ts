import type { Clock } from "../clock.ts";
import type { Head } from "../stellar/head.ts";
import type { RpcClient } from "../stellar/rpc/client.ts";
import type { WatcherState } from "../store/store.ts";
import { afterRevert } from "./coverage.ts";

/** Applies a revert of the sandbox; undefined when there is none. */
export type Reverts = (state: WatcherState, signal: AbortSignal) => Promise<WatcherState | undefined>;

/**
 * A sandbox that reverts to a snapshot reports the ledger. Later ledgers belong to a new epoch, because other events
 * may have the same place.
 */
export function createReverts({ clock, head, rpc }: {
  clock: Pick<Clock, "networkReverts">;
  head: Pick<Head, "restart">;
  rpc: Pick<RpcClient, "getLatestLedger">;
}): Reverts {
  let known = count();
  /** The revert of the next commit, which begins the epoch after this one. */
  let begun: { count: number; epoch: number } | undefined;

  function count(): number {
    return clock.networkReverts?.().length ?? 0;
  }

  return async function apply(state, signal) {
    if (begun !== undefined && state.epoch > begun.epoch) known = begun.count;
    begun = undefined;
    if (count() === known) return undefined;
    const { sequence, closeTime } = await rpc.getLatestLedger({ signal });
    const [reverts, ledger] = [count(), Math.min(...clock.networkReverts!().slice(known))];
    head.restart({ sequence, closeTime });
    if (state.scannedLedger <= ledger) {
      known = reverts;
      return undefined;
    }
    begun = { count: reverts, epoch: state.epoch };
    return afterRevert(state, ledger, { sequence, closeTime });
  };
}

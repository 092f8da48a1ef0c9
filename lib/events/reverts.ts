import type { Clock } from "../clock.ts";
import type { Head } from "../stellar/head.ts";
import type { RpcClient } from "../stellar/rpc/client.ts";
import type { WatcherState } from "../store/store.ts";
import { afterRevert } from "./coverage.ts";

/** Applies what the sandbox takes back; answers undefined where it has taken nothing back. */
export type Reverts = (state: WatcherState, signal: AbortSignal) => Promise<WatcherState | undefined>;

/**
 * A sandbox that goes back to a snapshot says to which ledger. What closes after it is told in a new epoch, for it may be
 * something else at the same place.
 */
export function createReverts({ clock, head, rpc }: {
  clock: Pick<Clock, "networkReverts">;
  head: Pick<Head, "restart">;
  rpc: Pick<RpcClient, "getLatestLedger">;
}): Reverts {
  let known = count();
  /** What is about to be committed, from this epoch on. */
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

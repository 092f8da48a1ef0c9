import type { Health } from "../stellar/rpc.ts";
import { createLedgerTip } from "../stellar/tip.ts";
import type { EventSlice, HistoryGap, StoredEvent, WatcherState } from "../store/store.ts";
import type { Page } from "./page.ts";
import { ledgerOfRpcId } from "./position.ts";
import { isoSeconds } from "./time.ts";

/** Where the watcher reads on, and what has to be committed together with the first events read there. */
export interface Stand {
  state: WatcherState;
  gaps: HistoryGap[];
  /** Nothing was read since it was set to the node's oldest ledger: the node may prune ledgers now without a loss. */
  fresh: boolean;
}

/** A ledger with its close time, Unix seconds, 0 when no node said one. */
export interface TimedLedger {
  sequence: number;
  closeTime: number;
}

/** Contract ids as they are compared and kept. */
export function joinContractIds(contractIds: readonly string[]): string {
  return [...new Set(contractIds)].sort().join(",");
}

/** What an answer about this ledger says of the node, seen from what has been committed: the rule is that of the tip. */
export function judge(state: WatcherState, newest: TimedLedger): "current" | "lagging" | "reset" {
  const committed = createLedgerTip({ sequence: state.latestLedger, closeTime: state.latestLedgerCloseTime });
  return committed.observe(newest.sequence, newest.closeTime || undefined);
}

/** The ledger the next page begins in. */
export function nextLedger(state: WatcherState): number {
  return ledgerOfRpcId(state.rpcCursor ?? "") ?? state.scannedLedger + 1;
}

/** The first ledger a node holds, nothing read yet. */
export function atOldest(epoch: number, contractIds: string, health: Health, newest: TimedLedger): Stand {
  const state = {
    epoch,
    contractIds,
    oldestLedger: health.oldestLedger,
    scannedLedger: health.oldestLedger - 1,
    latestLedger: newest.sequence,
    latestLedgerCloseTime: newest.closeTime,
  };
  return { state, gaps: [], fresh: true };
}

/** The node no longer holds what comes next: on from its oldest ledger, the ledgers between are a gap. */
export function afterPruning(stand: Stand, oldestLedger: number, nowMs: number): Stand {
  const { rpcCursor: _pruned, ...state } = stand.state;
  const moved = { ...state, scannedLedger: oldestLedger - 1 };
  if (!stand.fresh) return { ...stand, state: moved, gaps: withGap(stand, oldestLedger - 1, nowMs) };
  const nothingHeld = state.oldestLedger > state.scannedLedger;
  return { ...stand, state: { ...moved, oldestLedger: nothingHeld ? oldestLedger : state.oldestLedger } };
}

/** The network was reset: a new epoch, from the oldest ledger of the new network; the rest of the old one is lost. */
export function afterReset(stand: Stand, health: Health, newest: TimedLedger, nowMs: number): Stand {
  const next = atOldest(stand.state.epoch + 1, stand.state.contractIds, health, newest);
  return { ...next, gaps: stand.fresh ? stand.gaps : withGap(stand, stand.state.latestLedger, nowMs) };
}

/**
 * Other contracts are watched now. With one that was not watched before, all is read again from the node's oldest
 * ledger; without, what is held is all there is to hold.
 */
export function withContracts(stand: Stand, oldestLedger: number, nowMs: number): Stand {
  const { rpcCursor: _other, ...state } = stand.state;
  const again = {
    ...state,
    oldestLedger: Math.min(state.oldestLedger, oldestLedger),
    scannedLedger: oldestLedger - 1,
  };
  return { state: again, gaps: withGap(stand, oldestLedger - 1, nowMs), fresh: true };
}

/** The ledgers after what was scanned, up to `toLedger`, as one more gap; joined to the last when that ends there. */
function withGap(stand: Stand, toLedger: number, nowMs: number): HistoryGap[] {
  const { epoch, scannedLedger } = stand.state;
  if (toLedger <= scannedLedger) return stand.gaps;
  const last = stand.gaps.at(-1);
  if (last?.epoch === epoch && last.toLedger === scannedLedger) {
    return [...stand.gaps.slice(0, -1), { ...last, toLedger }];
  }
  const noticedAt = isoSeconds(nowMs);
  return [...stand.gaps, { epoch, fromLedger: scannedLedger + 1, toLedger, noticedAt }];
}

/**
 * The state to commit with the events up to `lastEvent` of a page that has more: the ledger of that event may go on, so
 * the ones before it count as scanned, and after a crash it is read again from its first event.
 */
export function midPage(state: WatcherState, newest: TimedLedger, lastEvent: StoredEvent): WatcherState {
  const { rpcCursor: _behind, ...rest } = state;
  return { ...rest, ...seen(newest), scannedLedger: Math.max(state.scannedLedger, lastEvent.ledger - 1) };
}

/** The state to commit with the last events of a page. */
export function endOfPage(state: WatcherState, newest: TimedLedger, page: Page): WatcherState {
  const scannedLedger = Math.max(state.scannedLedger, page.scannedLedger);
  return { ...state, ...seen(newest), scannedLedger, rpcCursor: page.cursor };
}

function seen(newest: TimedLedger): Pick<WatcherState, "latestLedger" | "latestLedgerCloseTime"> {
  return { latestLedger: newest.sequence, latestLedgerCloseTime: newest.closeTime };
}

/** Whether committing this would change nothing. */
export function isCommitted(state: WatcherState, slice: EventSlice): boolean {
  return slice.events.length === 0 && (slice.gaps ?? []).length === 0 &&
    (Object.keys(slice.state) as (keyof WatcherState)[]).every((key) => slice.state[key] === state[key]);
}

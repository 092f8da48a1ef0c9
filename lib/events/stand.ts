import type { Health } from "../stellar/rpc/rpc.ts";
import { createLedgerTip } from "../stellar/ledger/tip.ts";
import type { EventSlice, HistoryGap, StoredEvent, WatcherState } from "../store/store.ts";
import type { Page } from "./page.ts";
import { ledgerOfRpcId } from "./position.ts";
import { isoSeconds } from "./time.ts";

/** Where the watcher reads on, and what has to be committed together with the first events read there. */
export interface Stand {
  state: WatcherState;
  gaps: HistoryGap[];
  /**
   * All ledgers up to this one were read, or are a gap: what the node prunes after it is lost. Infinity while nothing was
   * ever read. Above `scannedLedger` when ledgers are read again.
   */
  readThrough: number;
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

/** On from what is committed. */
export function atCommitted(state: WatcherState): Stand {
  return { state, gaps: [], readThrough: state.scannedLedger };
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
  return { state, gaps: [], readThrough: Infinity };
}

/** The node no longer holds what comes next: on from its oldest ledger, what was not read before that is a gap. */
export function afterPruning(stand: Stand, oldestLedger: number, nowMs: number): Stand {
  const { rpcCursor: _pruned, ...state } = stand.state;
  const moved = { ...state, scannedLedger: oldestLedger - 1 };
  if (stand.readThrough === Infinity) return { ...stand, state: { ...moved, oldestLedger } };
  return { ...withGap(stand, oldestLedger - 1, nowMs), state: moved };
}

/** The network was reset: a new epoch, from the oldest ledger of the new network; the rest of the old one is lost. */
export function afterReset(stand: Stand, health: Health, newest: TimedLedger, nowMs: number): Stand {
  const { gaps } = withGap(stand, stand.state.latestLedger, nowMs);
  return { ...atOldest(stand.state.epoch + 1, stand.state.contractIds, health, newest), gaps };
}

/** More contracts are watched now: all is read again from the node's oldest ledger; what is held stays held. */
export function fromOldestAgain(stand: Stand, nodeOldest: number, nowMs: number): Stand {
  const oldestLedger = Math.min(stand.state.oldestLedger, nodeOldest);
  const again = afterPruning(stand, nodeOldest, nowMs);
  return { ...again, state: { ...again.state, oldestLedger } };
}

/** The ledgers up to `toLedger` that were not read are one more gap, joined to the last when that ends where they begin. */
function withGap(stand: Stand, toLedger: number, nowMs: number): Stand {
  const { gaps, readThrough, state: { epoch } } = stand;
  if (toLedger <= readThrough) return stand;
  const last = gaps.at(-1);
  const joined = last?.epoch === epoch && last.toLedger === readThrough;
  const gap = joined
    ? { ...last, toLedger }
    : { epoch, fromLedger: readThrough + 1, toLedger, noticedAt: isoSeconds(nowMs) };
  return { ...stand, gaps: [...(joined ? gaps.slice(0, -1) : gaps), gap], readThrough: toLedger };
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

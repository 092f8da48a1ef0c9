/**
 * What of the network's events has been read, as pure functions over the watcher's state: ranges of contracts, gaps, epochs.
 */
import type { HistoryGap, LedgerHash, WatcherState } from "../store/store.ts";

/** Ledgers whose events are held; both ends belong to it. */
export interface HeldRange {
  epoch: number;
  fromLedger: number;
  toLedger: number;
}

/** So that a state stays small enough for every store: beyond it, the oldest gaps of an epoch are shown as one. */
const MOST_GAPS = 100;

/** Nothing read yet: from the oldest ledger that a node holds. */
export function firstState(contractIds: readonly string[], oldestLedger: number): WatcherState {
  return {
    epoch: 0,
    latestLedger: 0,
    latestLedgerCloseTime: 0,
    scannedLedger: oldestLedger - 1,
    checkedLedger: oldestLedger - 1,
    contracts: Object.fromEntries(contractIds.map((id) => [id, { fromLedger: oldestLedger, toLedger: null }])),
    gaps: [],
    formerEpochs: [],
  };
}

/** The contracts that are watched, by their ids, sorted. */
export function watchedContracts({ contracts }: WatcherState): string[] {
  return Object.keys(contracts).filter((id) => contracts[id]!.toLedger === null).sort();
}

/**
 * From here on these contracts are watched, and no others. What was scanned without one of them is a gap of it: as far back
 * as its range reaches, or as a node holds what is new.
 */
export function withContracts(
  state: WatcherState,
  contractIds: readonly string[],
  oldestLedger: number,
  noticedAt: string,
): WatcherState {
  const wanted = new Set(contractIds);
  const contracts = { ...state.contracts };
  const missing = new Map<number, string[]>();
  for (const [id, range] of Object.entries(state.contracts)) {
    if (wanted.has(id) || range.toLedger !== null) continue;
    if (range.fromLedger > state.scannedLedger) delete contracts[id];
    else contracts[id] = { ...range, toLedger: state.scannedLedger };
  }
  for (const id of wanted) {
    const range = state.contracts[id];
    if (range?.toLedger === null) continue;
    const fromLedger = range === undefined ? Math.min(oldestLedger, state.scannedLedger + 1) : range.toLedger + 1;
    contracts[id] = { fromLedger: range?.fromLedger ?? fromLedger, toLedger: null };
    missing.set(fromLedger, [...(missing.get(fromLedger) ?? []), id]);
  }
  // The cursor may lie within a ledger, whose beginning was read without what is new.
  const { rpcCursor: _within, ...rest } = state;
  let next: WatcherState = { ...rest, contracts };
  for (const [fromLedger, ids] of missing) next = withGap(next, fromLedger, state.scannedLedger, ids, noticedAt);
  return next;
}

/** No node that answers holds the ledgers before this one any more; one that is silent (`isSilent`) may. */
export function afterPruning(
  state: WatcherState,
  oldestLedger: number,
  noticedAt: string,
  { isSilent }: { isSilent: boolean } = { isSilent: false },
): WatcherState {
  const { rpcCursor: _pruned, ...rest } = state;
  const isUnread = Object.values(state.contracts).every(({ fromLedger }) => fromLedger > state.scannedLedger);
  // What was never in reach is not missing.
  if (isUnread && !isSilent) {
    const { epoch, formerEpochs, formerAnchor, gaps } = state;
    return { ...firstState(watchedContracts(state), oldestLedger), epoch, formerEpochs, formerAnchor, gaps };
  }
  const ids = watchedContracts(state);
  const next = withGap(rest, state.scannedLedger + 1, oldestLedger - 1, ids, noticedAt);
  return { ...next, scannedLedger: Math.max(state.scannedLedger, oldestLedger - 1) };
}

/** The network was reset: a new epoch from its oldest ledger on. What was seen of the old one and not read is lost. */
export function afterReset(
  state: WatcherState,
  { oldestLedger, formerAnchor }: { oldestLedger: number; formerAnchor?: LedgerHash },
  noticedAt: string,
): WatcherState {
  const ids = watchedContracts(state);
  const { gaps } = withGap(state, state.scannedLedger + 1, state.latestLedger, ids, noticedAt);
  const held = rangeOf(state);
  return {
    ...firstState(ids, Math.max(1, oldestLedger)),
    epoch: state.epoch + 1,
    gaps,
    formerEpochs: held === undefined ? state.formerEpochs : [...state.formerEpochs, held],
    formerAnchor: formerAnchor ?? state.formerAnchor,
  };
}

/** These ledgers have been scanned for the events of these contracts: no gap of theirs reaches into them any more. */
export function withFilled(
  state: WatcherState,
  contractIds: readonly string[],
  fromLedger: number,
  toLedger: number,
): WatcherState {
  const gaps = state.gaps.flatMap((gap) => {
    if (gap.epoch !== state.epoch || gap.contractIds.join() !== contractIds.join()) return [gap];
    if (gap.toLedger < fromLedger || gap.fromLedger > toLedger) return [gap];
    const [before, after] = [{ ...gap, toLedger: fromLedger - 1 }, { ...gap, fromLedger: toLedger + 1 }];
    return [before, after].filter((left) => left.fromLedger <= left.toLedger);
  });
  return { ...state, gaps: ascending(gaps) };
}

/**
 * No node holds the ledgers of a gap before this one any more. Where that is the beginning of all that was ever read of its
 * contracts, it was never in reach, and is not missing.
 */
export function withoutReach(state: WatcherState, gap: HistoryGap, oldestLedger: number): WatcherState {
  if (!isBeginning(gap, state) || oldestLedger <= gap.fromLedger) return state;
  const fromLedger = Math.min(oldestLedger, gap.toLedger + 1);
  const raised = gap.contractIds.map((id) => [id, { ...state.contracts[id]!, fromLedger }]);
  const contracts = { ...state.contracts, ...Object.fromEntries(raised) };
  return withFilled({ ...state, contracts }, gap.contractIds, gap.fromLedger, fromLedger - 1);
}

/** Whether a gap is the beginning of all that was ever read of its contracts: they are new, and it is being read. */
export function isBeginning({ contractIds, fromLedger }: HistoryGap, { contracts }: WatcherState): boolean {
  return contractIds.every((id) => contracts[id]?.fromLedger === fromLedger);
}

/** Gaps that a node may fill yet: those of the network as it is. */
export function gapsToFill({ gaps, epoch }: WatcherState): HistoryGap[] {
  return gaps.filter((gap) => gap.epoch === epoch);
}

/** What is held, ascending, without the gaps. */
export function heldRanges(state: WatcherState): HeldRange[] {
  const current = rangeOf(state);
  return [...state.formerEpochs, ...(current === undefined ? [] : [current])].flatMap((range) =>
    less(range, state.gaps.filter(({ epoch }) => epoch === range.epoch))
  );
}

function rangeOf({ epoch, contracts, scannedLedger }: WatcherState): HeldRange | undefined {
  const fromLedger = Math.min(...Object.values(contracts).map(({ fromLedger }) => fromLedger));
  return fromLedger <= scannedLedger ? { epoch, fromLedger, toLedger: scannedLedger } : undefined;
}

function withGap(
  state: WatcherState,
  fromLedger: number,
  toLedger: number,
  contractIds: string[],
  noticedAt: string,
): WatcherState {
  if (fromLedger > toLedger) return state;
  const { epoch } = state;
  const sorted = [...contractIds].sort();
  const last = state.gaps.findIndex((gap) =>
    gap.epoch === epoch && gap.toLedger === fromLedger - 1 && gap.contractIds.join() === sorted.join()
  );
  const gaps = last >= 0
    ? state.gaps.with(last, { ...state.gaps[last]!, toLedger })
    : [...state.gaps, { epoch, fromLedger, toLedger, contractIds: sorted, noticedAt }];
  return { ...state, gaps: fewer(ascending(gaps)) };
}

function ascending(gaps: HistoryGap[]): HistoryGap[] {
  return gaps.toSorted((a, b) => a.epoch - b.epoch || a.fromLedger - b.fromLedger);
}

/** Two neighbours of one epoch become one, with what lies between them, until there are few enough. */
function fewer(gaps: HistoryGap[]): HistoryGap[] {
  if (gaps.length <= MOST_GAPS) return gaps;
  const at = gaps.findIndex((gap, index) => gap.epoch === gaps[index + 1]?.epoch);
  if (at < 0) return fewer(gaps.slice(1));
  const [first, second] = [gaps[at]!, gaps[at + 1]!];
  const joined = {
    ...first,
    toLedger: Math.max(first.toLedger, second.toLedger),
    contractIds: [...new Set([...first.contractIds, ...second.contractIds])].sort(),
  };
  return fewer(gaps.toSpliced(at, 2, joined));
}

/** What is left of a range without its gaps, which come ascending and may overlap. */
function less(range: HeldRange, gaps: HistoryGap[]): HeldRange[] {
  const left: HeldRange[] = [];
  let { fromLedger } = range;
  for (const gap of gaps) {
    if (gap.fromLedger > fromLedger) {
      left.push({ ...range, fromLedger, toLedger: Math.min(gap.fromLedger - 1, range.toLedger) });
    }
    fromLedger = Math.max(fromLedger, gap.toLedger + 1);
  }
  left.push({ ...range, fromLedger });
  return left.filter(({ fromLedger, toLedger }) => fromLedger <= toLedger);
}

/** Pure changes of the watcher's state: scanned ledgers, contract ranges, gaps, epochs. */
import type { Checkpoint } from "../ledger_numbers.ts";
import type { Answer } from "../stellar/observe.ts";
import type { GapReason, HistoryGap, WatcherState } from "../store/store.ts";

/** Ledgers whose events the log holds, both ends inclusive. */
export interface HeldRange {
  epoch: number;
  fromLedger: number;
  toLedger: number;
}

/** A state has to fit every store. Beyond this the oldest gaps of an epoch are joined. */
const MOST_GAPS = 100;
const MOST_CHECKPOINTS = 10;
/** Marks of ledgers to rescan: how far apart, and how many. */
const RESCAN_SECONDS = 30;
const MOST_RESCANS = 20;

/** The state before the first scan, from the oldest ledger that a node holds. */
export function firstState(contractIds: readonly string[], oldestLedger: number): WatcherState {
  return {
    epoch: 0,
    latestLedger: 0,
    latestLedgerCloseTime: 0,
    scannedLedger: oldestLedger - 1,
    settledLedger: oldestLedger - 1,
    rescans: [],
    checkpoints: [],
    formerCheckpoints: [],
    contracts: Object.fromEntries(contractIds.map((id) => [id, { fromLedger: oldestLedger, toLedger: null }])),
    gaps: [],
    formerEpochs: [],
  };
}

/**
 * An ordinary node holds 120 960 ledgers (seven days), which twenty calls read in order. Only of a longer history are the
 * newest ledgers read first.
 */
const IN_ORDER_LEDGERS = 200_000;

/** The state before the first scan. A long history begins near the newest ledger; the earlier ledgers are a gap. */
export function beginning(
  contractIds: readonly string[],
  { oldestLedger, newestLedger, detectedAt }: { oldestLedger: number; newestLedger: number; detectedAt: string },
): WatcherState {
  const state = firstState(contractIds, oldestLedger);
  const scannedLedger = Math.max(state.scannedLedger, newestLedger - IN_ORDER_LEDGERS);
  const begun = { ...state, scannedLedger, settledLedger: scannedLedger };
  return withGap(begun, oldestLedger, scannedLedger, [...contractIds], { detectedAt, reason: "start" });
}

/** The ledger from which a gap is read next: a long one is read from its newest end. */
export function nextOfGap({ fromLedger, toLedger }: HistoryGap): number {
  return Math.max(fromLedger, toLedger - IN_ORDER_LEDGERS + 1);
}

/** The ids of the watched contracts, sorted. */
export function watchedContracts({ contracts }: WatcherState): string[] {
  return Object.keys(contracts).filter((id) => contracts[id]!.toLedger === null).sort();
}

/**
 * Marks all ledgers up to this one as scanned. `closeTime`: of the head. `rpcCursor`: a part of the next ledger is
 * scanned, too.
 */
export function withScanned(
  state: WatcherState,
  ledger: number,
  { closeTime, rpcCursor }: { closeTime: number; rpcCursor?: string },
): WatcherState {
  const { rpcCursor: _before, ...rest } = state;
  const scanned = { ...rest, ...(rpcCursor === undefined ? {} : { rpcCursor }) };
  if (ledger <= state.scannedLedger) return scanned;
  const { rescans } = state;
  const [last, before] = [rescans.at(-1), rescans.at(-2)];
  const isNear = last !== undefined && before !== undefined && last.closeTime - before.closeTime < RESCAN_SECONDS;
  const kept = rescans.slice(0, isNear || rescans.length >= MOST_RESCANS ? -1 : undefined);
  // Ledgers scanned within the same seconds share a mark, of the last one.
  return { ...scanned, scannedLedger: ledger, rescans: [...kept, { ledger, closeTime }] };
}

/** Drops what lies above a fallen head: nothing above it counts as scanned. */
export function withoutAbove(state: WatcherState, ledger: number): WatcherState {
  if (state.scannedLedger <= ledger) return state;
  const { rpcCursor: _above, ...rest } = state;
  const isBelow = (one: { ledger: number }) => one.ledger <= ledger;
  return {
    ...rest,
    scannedLedger: ledger,
    settledLedger: Math.min(state.settledLedger, ledger),
    rescans: state.rescans.filter(isBelow),
    checkpoints: state.checkpoints.filter(isBelow),
  };
}

/** Adds a checkpoint of this epoch. */
export function withCheckpoint(state: WatcherState, checkpoint: Checkpoint): WatcherState {
  return { ...state, checkpoints: [...state.checkpoints, checkpoint].slice(-MOST_CHECKPOINTS) };
}

/**
 * Changes the watched contracts. Ledgers scanned without a contract are a gap of it, from the end of its range. For a
 * new contract the gap starts at the oldest ledger that a node holds.
 */
export function withContracts(
  state: WatcherState,
  contractIds: readonly string[],
  oldestLedger: number,
  detectedAt: string,
): WatcherState {
  const wanted = new Set(contractIds);
  const contracts = { ...state.contracts };
  const missing = new Map<number, string[]>();
  for (const [id, range] of Object.entries(state.contracts)) {
    if (wanted.has(id) || range.toLedger !== null) continue;
    // The scan may have read a part of the ledger after `scannedLedger`.
    const isUnread = range.fromLedger > state.scannedLedger && state.rpcCursor === undefined;
    if (isUnread) delete contracts[id];
    else contracts[id] = { ...range, toLedger: state.scannedLedger };
  }
  for (const id of wanted) {
    const range = state.contracts[id];
    if (range?.toLedger === null) continue;
    const fromLedger = range === undefined ? Math.min(oldestLedger, state.scannedLedger + 1) : range.toLedger + 1;
    contracts[id] = { fromLedger: range?.fromLedger ?? fromLedger, toLedger: null };
    missing.set(fromLedger, [...(missing.get(fromLedger) ?? []), id]);
  }
  // The cursor may lie within a ledger whose beginning was read without the new contract.
  const { rpcCursor: _within, ...rest } = state;
  let next: WatcherState = { ...rest, contracts };
  for (const [fromLedger, ids] of missing) {
    next = withGap(next, fromLedger, state.scannedLedger, ids, { detectedAt, reason: "contract" });
  }
  return next;
}

/**
 * Makes a gap of the ledgers before `oldestLedger`, which no answering node holds. `isSilent`: a node did not answer.
 */
export function afterPruning(
  state: WatcherState,
  oldestLedger: number,
  detectedAt: string,
  { isSilent }: { isSilent: boolean },
): WatcherState {
  const { rpcCursor: _pruned, ...rest } = state;
  const isUnread = Object.values(state.contracts).every(({ fromLedger }) => fromLedger > state.scannedLedger);
  // Ledgers that no node ever held for this gateway are no gap.
  if (isUnread && !isSilent) {
    const { scannedLedger, settledLedger, contracts } = firstState(watchedContracts(state), oldestLedger);
    return { ...rest, scannedLedger, settledLedger, contracts };
  }
  const ids = watchedContracts(state);
  const next = withGap(rest, state.scannedLedger + 1, oldestLedger - 1, ids, { detectedAt, reason: "pruned" });
  return { ...next, scannedLedger: Math.max(state.scannedLedger, oldestLedger - 1) };
}

/** Begins a new epoch after a reset. Unsettled ledgers of the former epoch are a gap. */
export function afterReset(
  state: WatcherState,
  { head, checkpoint, oldestLedger }: { head: Answer; checkpoint: Checkpoint; oldestLedger: number },
  detectedAt: string,
): WatcherState {
  const ids = watchedContracts(state);
  const end = Math.max(state.scannedLedger, state.latestLedger);
  const { gaps } = withGap(state, state.settledLedger + 1, end, ids, { detectedAt, reason: "reset" });
  const held = rangeOf(state);
  return {
    ...firstState(ids, Math.max(1, oldestLedger)),
    epoch: state.epoch + 1,
    latestLedger: head.sequence,
    latestLedgerCloseTime: head.closeTime ?? 0,
    checkpoints: [checkpoint],
    formerCheckpoints: [...state.formerCheckpoints, ...state.checkpoints.slice(-1)],
    gaps,
    formerEpochs: held === undefined ? state.formerEpochs : [...state.formerEpochs, held],
  };
}

/** Begins a new epoch after a sandbox reverted to this ledger, from the next one on. */
export function afterRevert(state: WatcherState, ledger: number, head: Answer): WatcherState {
  const held = rangeOf(state);
  return {
    ...firstState(watchedContracts(state), ledger + 1),
    epoch: state.epoch + 1,
    latestLedger: head.sequence,
    latestLedgerCloseTime: head.closeTime ?? 0,
    checkpoints: state.checkpoints.filter((checkpoint) => checkpoint.ledger <= ledger),
    formerCheckpoints: state.formerCheckpoints,
    gaps: state.gaps,
    formerEpochs: held === undefined ? state.formerEpochs : [...state.formerEpochs, held],
  };
}

/** Removes these ledgers from the gaps of these contracts. */
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
 * Shortens a gap to the oldest ledger that any node holds, if it is the beginning of its contracts. Those ledgers were
 * never in reach.
 */
export function withoutReach(state: WatcherState, gap: HistoryGap, oldestLedger: number): WatcherState {
  if (!isBeginning(gap, state) || oldestLedger <= gap.fromLedger) return state;
  const fromLedger = Math.min(oldestLedger, gap.toLedger + 1);
  const raised = gap.contractIds.map((id) => [id, { ...state.contracts[id]!, fromLedger }]);
  const contracts = { ...state.contracts, ...Object.fromEntries(raised) };
  return withFilled({ ...state, contracts }, gap.contractIds, gap.fromLedger, fromLedger - 1);
}

/** Whether a gap is the beginning of its contracts, which are new. */
export function isBeginning({ contractIds, fromLedger }: HistoryGap, { contracts }: WatcherState): boolean {
  return contractIds.every((id) => contracts[id]?.fromLedger === fromLedger);
}

/** Gaps of the current epoch, which a node may fill. */
export function gapsToFill({ gaps, epoch }: WatcherState): HistoryGap[] {
  return gaps.filter((gap) => gap.epoch === epoch);
}

/** The held ranges, ascending, without gaps. */
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
  { detectedAt, reason }: { detectedAt: string; reason: GapReason },
): WatcherState {
  if (fromLedger > toLedger) return state;
  const { epoch } = state;
  const sorted = [...contractIds].sort();
  const last = state.gaps.findIndex((gap) =>
    gap.epoch === epoch && gap.toLedger === fromLedger - 1 && gap.reason === reason &&
    gap.contractIds.join() === sorted.join()
  );
  const gaps = last >= 0
    ? state.gaps.with(last, { ...state.gaps[last]!, toLedger })
    : [...state.gaps, { epoch, fromLedger, toLedger, contractIds: sorted, detectedAt, reason }];
  return { ...state, gaps: fewer(ascending(gaps)) };
}

function ascending(gaps: HistoryGap[]): HistoryGap[] {
  return gaps.toSorted((a, b) => a.epoch - b.epoch || a.fromLedger - b.fromLedger);
}

/** Joins the two oldest neighbours of one epoch until there are few enough. */
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

/** The parts of a range outside its gaps, which ascend and may overlap. */
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

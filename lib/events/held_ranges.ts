import type { HistoryGap, Store, WatcherState } from "../store/store.ts";
import { endOfLedger, ledgerOfPosition, MAX_LEDGER, parsePosition } from "./position.ts";

/** Ledgers whose events are held; both ends belong to it. */
export interface HeldRange {
  epoch: number;
  fromLedger: number;
  toLedger: number;
}

/**
 * The first ledger from `fromLedger` on of which nothing was forgotten; Infinity when its epoch is over and forgotten.
 * @param prunedUpTo `Store.prunedUpTo`
 */
export function firstWholeLedger(epoch: number, fromLedger: number, prunedUpTo: string | undefined): number {
  if (prunedUpTo === undefined) return fromLedger;
  const pruned = parsePosition(prunedUpTo);
  if (pruned.epoch !== epoch) return pruned.epoch < epoch ? fromLedger : Infinity;
  return Math.max(fromLedger, ledgerOfPosition(prunedUpTo) + 1);
}

/**
 * Answers what is held: of the current epoch what was scanned, of earlier ones what lies between their first and their
 * last event; less what was forgotten and the gaps. An earlier epoch has no new events, so it is looked up once.
 */
export function createHeldRanges(store: Store): (state: WatcherState, gaps: HistoryGap[]) => Promise<HeldRange[]> {
  const earlier = new Map<number, HeldRange | undefined>();

  async function nextEventLedger(epoch: number, afterLedger: number): Promise<number | undefined> {
    const query = { after: endOfLedger(epoch, afterLedger), upTo: endOfLedger(epoch, MAX_LEDGER), limit: 1 };
    const [event] = await store.readEvents(query);
    return event && ledgerOfPosition(event.position);
  }

  /** The store reads forwards only: the last event is found by halving what lies after the last one known. */
  async function lookUp(epoch: number): Promise<HeldRange | undefined> {
    const fromLedger = await nextEventLedger(epoch, 0);
    if (fromLedger === undefined) return undefined;
    let [toLedger, noneAfter] = [fromLedger, MAX_LEDGER];
    while (toLedger < noneAfter) {
      const middle = Math.floor((toLedger + noneAfter) / 2);
      const found = await nextEventLedger(epoch, middle);
      if (found === undefined) noneAfter = middle;
      else toLedger = found;
    }
    return { epoch, fromLedger, toLedger };
  }

  return async (state, gaps) => {
    const prunedUpTo = await store.prunedUpTo();
    const ranges: HeldRange[] = [];
    for (let epoch = 0; epoch < state.epoch; epoch++) {
      if (!earlier.has(epoch)) earlier.set(epoch, await lookUp(epoch));
      const range = earlier.get(epoch);
      if (range !== undefined) ranges.push(range);
    }
    ranges.push({ epoch: state.epoch, fromLedger: state.oldestLedger, toLedger: state.scannedLedger });
    return ranges.map((range) => ({
      ...range,
      fromLedger: firstWholeLedger(range.epoch, range.fromLedger, prunedUpTo),
    }))
      .flatMap((range) => less(range, gaps.filter(({ epoch }) => epoch === range.epoch)));
  };
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

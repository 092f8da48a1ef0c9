/*
 * Decides which gap to fill next and at which node: one job for rescans, gaps and newly watched contracts. `rescan.ts`
 * goes first; `coverage.ts` closes the gap in the state.
 */

import type { HistoryGap, WatcherState } from "../store/store.ts";
import { gapsToFill, nextOfGap, withFilled, withoutReach } from "./coverage.ts";
import type { Page, Place } from "./page.ts";
import { readOfNetwork } from "./reading.ts";
import { type Backfilled, createRescans, type RescanParts } from "./rescan.ts";

/** Reads events that the scan has not: late ones, and those of gaps and of newly watched contracts. */
export interface Backfill {
  /** Reads one page. `nothing`: none is due. Retries a failing node later. */
  step(state: WatcherState, lastNode: number, signal: AbortSignal): Promise<Backfilled>;
  /** Records when the newest ledgers were scanned. */
  scanned(state: WatcherState): void;
  /** The last page was not committed: the next one starts where the stored state ends. */
  restart(): void;
  /** Starts with the gaps at once, as there are new ones. */
  again(): void;
}

const FILL_EVERY_MS = 600_000;
/** When a node did not answer, or lagged. */
const UNANSWERED_MS = 60_000;

/** One pass over all gaps, each at every node. */
interface Round {
  done: Set<string>;
  /** The current gap, and its node. */
  key?: string;
  node: number;
  /** Where the next page starts; at the start of the gap when absent. */
  place?: { from: number; place: Place };
  /** The oldest ledger that any node holds, and how many nodes reported it. */
  oldest: number;
  told: number;
  /** Nodes that did not answer or lagged, skipped for the rest of the round. */
  silent: Set<number>;
}

const newRound = (): Round => ({ done: new Set(), node: 0, oldest: Infinity, told: 0, silent: new Set() });
const keyOf = ({ contractIds, toLedger }: HistoryGap) => `${toLedger} ${contractIds.join()}`;

export function createBackfill(parts: RescanParts): Backfill {
  const { rpc, clock: { monotonicMs } } = parts;
  const rescans = createRescans(parts);
  let fillAtMs = -Infinity;
  let round = newRound();

  /** The next gap of this round; undefined ends the round. */
  function nextGap(state: WatcherState): HistoryGap | undefined {
    if (monotonicMs() < fillAtMs) return undefined;
    const gaps = gapsToFill(state);
    const current = gaps.find((one) => keyOf(one) === round.key);
    if (current !== undefined) return current;
    const gap = gaps.find((one) => !round.done.has(keyOf(one)));
    const { done, silent } = round;
    if (gap !== undefined) {
      round = { ...newRound(), done, silent, key: keyOf(gap) };
      return gap;
    }
    if (gaps.length > 0) fillAtMs = monotonicMs() + (silent.size > 0 ? UNANSWERED_MS : FILL_EVERY_MS);
    round = newRound();
    return undefined;
  }

  function nextNode(state: WatcherState, gap: HistoryGap): WatcherState {
    const nodes = rpc.nodes().length;
    round = { ...round, node: round.node + 1, place: undefined };
    if (round.node < nodes) return state;
    const isKnown = round.told === nodes;
    const { oldest, done, silent } = round;
    round = { ...newRound(), done: done.add(keyOf(gap)), silent };
    return isKnown ? withoutReach(state, gap, oldest) : state;
  }

  async function fillPage(state: WatcherState, signal: AbortSignal): Promise<Backfilled> {
    const gap = nextGap(state);
    if (gap === undefined) return { kind: "nothing", state, events: [] };
    const { contractIds, toLedger } = gap;
    const startLedger = nextOfGap(gap);
    while (true) {
      const { node, silent } = round;
      const { from, place } = round.place ?? { from: startLedger, place: { startLedger } };
      const reading = silent.has(node)
        ? undefined
        : await readOfNetwork(parts, { place, contractIds, node, signal }, toLedger);
      if (reading?.kind === "page") return pageOfGap(state, gap, { from, place, page: reading.page });
      if (reading === undefined) silent.add(node);
      else if (reading.oldestLedger > from && reading.oldestLedger <= toLedger) {
        round.place = { from: reading.oldestLedger, place: { startLedger: reading.oldestLedger } };
        continue;
      } else {
        round.told += 1;
        round.oldest = Math.min(round.oldest, reading.oldestLedger);
      }
      const next = nextNode(state, gap);
      if (round.key === undefined) return { kind: "gap", state: next, events: [] };
    }
  }

  function pageOfGap(
    state: WatcherState,
    gap: HistoryGap,
    { from, place, page }: { from: number; place: Place; page: Page },
  ): Backfilled {
    const { contractIds, toLedger } = gap;
    const { events, scannedLedger, cursor } = page;
    const upTo = Math.min(scannedLedger, toLedger);
    const filled = upTo < from ? state : withFilled(state, contractIds, from, upTo);
    const standsStill = "cursor" in place && place.cursor === cursor;
    round.place = upTo >= toLedger ? undefined : { from: Math.max(from, upTo + 1), place: { cursor } };
    return {
      kind: "gap",
      state: standsStill ? nextNode(filled, gap) : filled,
      events: events.filter(({ ledger }) => ledger <= toLedger),
    };
  }

  return {
    async step(state, lastNode, signal) {
      return await rescans.page(state, lastNode, signal) ?? await fillPage(state, signal);
    },
    scanned: rescans.scanned,
    restart() {
      rescans.restart();
      round.place = undefined;
    },
    again() {
      fillAtMs = -Infinity;
      round = newRound();
    },
  };
}

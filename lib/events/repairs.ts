import type { Clock } from "../clock.ts";
import type { NodesRpcClient } from "../stellar/rpc/client.ts";
import type { RawEvent } from "../stellar/rpc/schemas.ts";
import type { HistoryGap, WatcherState } from "../store/store.ts";
import { gapsToFill, watchedContracts, withFilled, withoutReach } from "./coverage.ts";
import type { Place } from "./page.ts";
import type { Reading, ReadPage } from "./reading.ts";

/** Commits events with the state they lead to; answers how many of them were new and decoded, and the state. */
export type CommitPage = (events: RawEvent[], next: WatcherState) => Promise<{ added: number }>;

export interface RepairParts {
  rpc: Pick<NodesRpcClient, "nodes">;
  clock: Clock;
  read: (request: ReadPage) => Promise<Reading>;
  commit: CommitPage;
}

const FILL_EVERY_MS = 600_000;
/** The pages of gaps that are read in one turn. */
const PAGES_PER_TURN = 20;

export interface GapJobs {
  isDue(state: WatcherState): boolean;
  /** Reads what gaps lack, from every node; answers the state then, and how many events were found. */
  fill(state: WatcherState, signal: AbortSignal): Promise<{ state: WatcherState; found: number }>;
  /** New gaps are tried at once. */
  again(): void;
}

/** Gaps are jobs: tried on every node at the start, when there are new ones, and every ten minutes. */
export function createGapJobs({ rpc, clock, read, commit }: RepairParts): GapJobs {
  let nextMs = -Infinity;

  return {
    isDue: (state) => clock.monotonicMs() >= nextMs && gapsToFill(state).length > 0,
    again() {
      nextMs = -Infinity;
    },
    async fill(before, signal) {
      let [state, found, pages] = [before, 0, 0];
      for (const gap of gapsToFill(before)) {
        let oldestLedger = Infinity;
        let answers = 0;
        for (let node = 0; node < rpc.nodes().length && pages < PAGES_PER_TURN; node++) {
          const filled = await fillFrom(node, gap, state, signal).catch(() => undefined);
          if (filled === undefined) continue;
          answers += 1;
          pages += filled.pages;
          found += filled.found;
          oldestLedger = Math.min(oldestLedger, filled.oldestLedger);
          state = filled.state;
        }
        const isEveryNodes = answers === rpc.nodes().length;
        const left = isEveryNodes ? withoutReach(state, gap, oldestLedger) : state;
        if (left !== state) await commit([], state = left);
        if (signal.aborted || pages >= PAGES_PER_TURN) return { state, found };
      }
      nextMs = clock.monotonicMs() + FILL_EVERY_MS;
      return { state, found };
    },
  };

  /** Reads what this node holds of a gap. */
  async function fillFrom(node: number, gap: HistoryGap, before: WatcherState, signal: AbortSignal) {
    const { contractIds, toLedger, epoch } = gap;
    let [state, found, pages, oldestLedger] = [before, 0, 0, gap.fromLedger];
    const parts = state.gaps.filter((one) =>
      one.epoch === epoch && one.contractIds.join() === contractIds.join() && one.fromLedger >= gap.fromLedger &&
      one.toLedger <= toLedger
    );
    for (const part of parts) {
      let place: Place = { startLedger: part.fromLedger };
      let from = part.fromLedger;
      while (from <= part.toLedger && pages < PAGES_PER_TURN && !signal.aborted) {
        const reading = await read({ place, contractIds, node, signal });
        if (reading.kind === "behind") break;
        if (reading.kind === "pruned") {
          oldestLedger = Math.max(oldestLedger, reading.oldestLedger);
          if (reading.oldestLedger <= from) break;
          from = reading.oldestLedger;
          place = { startLedger: from };
          continue;
        }
        pages += 1;
        const { page } = reading;
        const upTo = Math.min(page.scannedLedger, part.toLedger);
        const next = upTo < from ? state : withFilled(state, gapWith(state, part, from), from, upTo);
        const events = page.events.filter(({ ledger }) => ledger <= part.toLedger);
        found += (await commit(events, next)).added;
        state = next;
        from = Math.max(from, upTo + 1);
        if ("cursor" in place && place.cursor === page.cursor) break;
        place = { cursor: page.cursor };
      }
    }
    return { state, found, pages, oldestLedger };
  }
}

/** What is left of a gap where it is being read: its beginning may have been filled already. */
function gapWith(state: WatcherState, part: HistoryGap, ledger: number): HistoryGap {
  return state.gaps.find((gap) =>
    gap.epoch === part.epoch && gap.contractIds.join() === part.contractIds.join() && gap.fromLedger <= ledger &&
    ledger <= gap.toLedger
  ) ?? part;
}

const LOOK_AFTER_SECONDS = 180;
const LOOK_EVERY_MS = 30_000;

export interface SecondLook {
  /** Notes that all up to this ledger was scanned at this time of the network (Unix seconds). */
  scanned(ledger: number, seconds: number): void;
  /**
   * Reads a page of what was scanned some minutes ago once more, at another node where there is one; answers the state
   * then, and how many events had been missing. Does nothing when nothing is due, or when it is not time for a call.
   */
  look(
    state: WatcherState,
    now: { seconds: number; lastNode: number },
    signal: AbortSignal,
  ): Promise<{ state: WatcherState; found: number }>;
  /** The network was reset. */
  forget(): void;
}

/** What a node left out of a page, another one, or a later answer, may have. */
export function createSecondLook({ rpc, clock, read, commit }: RepairParts): SecondLook {
  let marks: { ledger: number; seconds: number }[] = [];
  let nextMs = clock.monotonicMs() + LOOK_EVERY_MS;
  let place: Place | undefined;

  /** The newest ledger that was scanned long enough ago. */
  function dueLedger(seconds: number): number {
    const due = marks.findLast((mark) => mark.seconds + LOOK_AFTER_SECONDS <= seconds);
    if (due === undefined) return 0;
    marks = marks.slice(marks.indexOf(due));
    return due.ledger;
  }

  return {
    scanned(ledger, seconds) {
      const last = marks.at(-1);
      const isFar = last === undefined || seconds - last.seconds >= LOOK_EVERY_MS / 1000;
      if (isFar && ledger > (last?.ledger ?? 0)) marks.push({ ledger, seconds });
    },
    forget() {
      marks = [];
      place = undefined;
    },
    async look(state, { seconds, lastNode }, signal) {
      const toLedger = Math.min(dueLedger(seconds), state.scannedLedger);
      const nowMs = clock.monotonicMs();
      if (nowMs < nextMs || toLedger <= state.checkedLedger) return { state, found: 0 };
      nextMs = nowMs + LOOK_EVERY_MS;
      place ??= { startLedger: state.checkedLedger + 1 };
      const nodes = rpc.nodes().length;
      const node = (lastNode + 1) % nodes;
      // What fails now is looked at the next time; the first look has seen it anyway.
      const reading = await read({ place, contractIds: watchedContracts(state), node, signal }).catch(() => undefined);
      if (reading === undefined || reading.kind === "behind") return { state, found: 0 };
      const isPage = reading.kind === "page";
      const looked = isPage ? reading.page.scannedLedger : reading.oldestLedger - 1;
      const checkedLedger = Math.max(state.checkedLedger, Math.min(toLedger, looked));
      place = isPage && looked < toLedger ? { cursor: reading.page.cursor } : undefined;
      const next = { ...state, checkedLedger };
      const events = isPage ? reading.page.events.filter(({ ledger }) => ledger <= toLedger) : [];
      return { state: next, found: (await commit(events, next)).added };
    },
  };
}

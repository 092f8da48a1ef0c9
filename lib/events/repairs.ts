import type { Clock } from "../clock.ts";
import type { NodesRpcClient } from "../stellar/rpc/client.ts";
import type { HistoryGap } from "../store/store.ts";
import { gapsToFill, watchedContracts, withFilled, withoutReach } from "./coverage.ts";
import type { LogWriter } from "./log_writer.ts";
import type { Place } from "./page.ts";
import type { Reading, ReadPage } from "./reading.ts";

export interface RepairParts {
  rpc: Pick<NodesRpcClient, "nodes">;
  clock: Clock;
  log: Pick<LogWriter, "state" | "commit">;
  read: (request: ReadPage) => Promise<Reading>;
}

const FILL_EVERY_MS = 600_000;
/** The pages of gaps that are read in one poll. */
const PAGES_PER_POLL = 20;

export interface GapJobs {
  /** Reads what gaps lack, from every node, when it is time; answers how many events were found. */
  fill(signal: AbortSignal): Promise<number>;
  /** There are new gaps: they are tried at once. */
  again(): void;
}

/** Gaps are jobs: tried on every node at the start, when there are new ones, and every ten minutes. */
export function createGapJobs({ rpc, clock, log, read }: RepairParts): GapJobs {
  let nextMs = -Infinity;
  let pages = 0;

  async function fillGap(gap: HistoryGap, signal: AbortSignal): Promise<number> {
    const nodes = rpc.nodes().length;
    let [found, answers, oldestLedger] = [0, 0, Infinity];
    for (let node = 0; node < nodes && pages < PAGES_PER_POLL && !signal.aborted; node++) {
      // What one node fails at, another may do; and there is a next time.
      const filled = await fillFrom(node, gap, signal).catch(() => undefined);
      if (filled === undefined) continue;
      answers += 1;
      found += filled.found;
      oldestLedger = Math.min(oldestLedger, filled.oldestLedger);
    }
    if (answers === nodes) await log.commit([], withoutReach(log.state!, gap, oldestLedger));
    return found;
  }

  /** Reads what this node holds of a gap, and of what is left of it by then. */
  async function fillFrom(node: number, gap: HistoryGap, signal: AbortSignal) {
    const { contractIds, epoch } = gap;
    let [found, oldestLedger] = [0, gap.fromLedger];
    const parts = log.state!.gaps.filter((left) =>
      left.epoch === epoch && left.contractIds.join() === contractIds.join() && left.fromLedger >= gap.fromLedger &&
      left.toLedger <= gap.toLedger
    );
    for (const { fromLedger, toLedger } of parts) {
      let from = fromLedger;
      let place: Place = { startLedger: from };
      while (from <= toLedger && pages < PAGES_PER_POLL && !signal.aborted) {
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
        const { page: { events, scannedLedger, cursor } } = reading;
        const upTo = Math.min(scannedLedger, toLedger);
        const next = upTo < from ? log.state! : withFilled(log.state!, contractIds, from, upTo);
        found += (await log.commit(events.filter(({ ledger }) => ledger <= toLedger), next)).added;
        from = Math.max(from, upTo + 1);
        if ("cursor" in place && place.cursor === cursor) break;
        place = { cursor };
      }
    }
    return { found, oldestLedger };
  }

  return {
    again() {
      nextMs = -Infinity;
    },
    async fill(signal) {
      const gaps = clock.monotonicMs() >= nextMs ? gapsToFill(log.state!) : [];
      let found = 0;
      pages = 0;
      for (const gap of gaps) {
        if (!signal.aborted) found += await fillGap(gap, signal);
        // The rest is read in the next polls.
        if (pages >= PAGES_PER_POLL) return found;
      }
      if (gaps.length > 0) nextMs = clock.monotonicMs() + FILL_EVERY_MS;
      return found;
    },
  };
}

const LOOK_AFTER_SECONDS = 180;
const LOOK_EVERY_MS = 30_000;

export interface SecondLook {
  /** Notes that all up to this ledger was scanned at this time of the network (Unix seconds). */
  scanned(ledger: number, seconds: number): void;
  /**
   * Reads a page of what was scanned some minutes ago once more, at another node where there is one; answers how many
   * events had been missing. Does nothing when nothing is due, or when it is not time for a call.
   */
  look(now: { seconds: number; lastNode: number }, signal: AbortSignal): Promise<number>;
  /** The network was reset. */
  forget(): void;
}

/** What a node left out of a page, another one, or a later answer, may have. */
export function createSecondLook({ rpc, clock, log, read }: RepairParts): SecondLook {
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
    async look({ seconds, lastNode }, signal) {
      const { scannedLedger, checkedLedger } = log.state!;
      const toLedger = Math.min(dueLedger(seconds), scannedLedger);
      const nowMs = clock.monotonicMs();
      if (nowMs < nextMs || toLedger <= checkedLedger) return 0;
      nextMs = nowMs + LOOK_EVERY_MS;
      place ??= { startLedger: checkedLedger + 1 };
      const node = (lastNode + 1) % rpc.nodes().length;
      const contractIds = watchedContracts(log.state!);
      // What fails now is looked at the next time; the first look has seen it anyway.
      const reading = await read({ place, contractIds, node, signal }).catch(() => undefined);
      if (reading === undefined || reading.kind === "behind") return 0;
      const page = reading.kind === "page" ? reading.page : undefined;
      const looked = reading.kind === "page" ? reading.page.scannedLedger : reading.oldestLedger - 1;
      place = page !== undefined && looked < toLedger ? { cursor: page.cursor } : undefined;
      const next = { ...log.state!, checkedLedger: Math.max(checkedLedger, Math.min(toLedger, looked)) };
      const events = page?.events.filter(({ ledger }) => ledger <= toLedger) ?? [];
      return (await log.commit(events, next)).added;
    },
  };
}

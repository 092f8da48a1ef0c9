import type { Clock } from "../clock.ts";
import type { NodesRpcClient } from "../stellar/rpc/client.ts";
import type { RawEvent } from "../stellar/rpc/schemas.ts";
import { type HistoryGap, StoreError, type WatcherState } from "../store/store.ts";
import { gapsToFill, watchedContracts, withFilled, withoutReach } from "./coverage.ts";
import { showsFormerNetwork } from "./former_network.ts";
import type { LogWriter } from "./log_writer.ts";
import type { Place } from "./page.ts";
import type { Reading, ReadPage } from "./reading.ts";

export interface RepairParts {
  rpc: Pick<NodesRpcClient, "nodes" | "getLedgers" | "getHealth">;
  clock: Clock;
  log: Pick<LogWriter, "state" | "commit">;
  read: (request: ReadPage) => Promise<Reading>;
}

const FILL_EVERY_MS = 600_000;
/** Where a node did not answer, or was behind. */
const UNANSWERED_MS = 60_000;
/** The pages of gaps that are read in one poll. */
const PAGES_PER_POLL = 20;
/** A node that fails at so many gaps in a row is not asked about the others for now. */
const MOST_FAILURES = 2;

export interface GapJobs {
  /** Reads what gaps lack, from every node, when it is time and until then (monotonic ms); answers how many events were found. */
  fill(endsAtMs: number, signal: AbortSignal): Promise<number>;
  /** There are new gaps: they are tried at once. */
  again(): void;
}

/** What is known of nodes while gaps are gone through: none is asked the same for each of them. */
interface Round {
  pages: number;
  isUnanswered: boolean;
  /** At how many gaps in a row a node failed. */
  failures: Map<number, number>;
  /** Whether it is of the network before. */
  isFormer: Map<number, boolean>;
  /** The oldest ledger that it holds, as it said last. */
  oldest: Map<number, number>;
}

/** Gaps are jobs: tried on every node at the start, when there are new ones, and every ten minutes. */
export function createGapJobs({ rpc, clock, log, read }: RepairParts): GapJobs {
  let nextMs = -Infinity;

  async function fillGap(gap: HistoryGap, round: Round, signal: AbortSignal): Promise<number> {
    const nodes = rpc.nodes().length;
    let [found, answers, oldestLedger] = [0, 0, Infinity];
    for (let node = 0; node < nodes && round.pages < PAGES_PER_POLL && !signal.aborted; node++) {
      const failures = round.failures.get(node) ?? 0;
      if (failures >= MOST_FAILURES) continue;
      round.failures.set(node, failures + 1);
      const filled = await fillFrom(node, gap, round, signal).catch(nodeFailed);
      if (filled === undefined) continue;
      round.failures.set(node, 0);
      if (!filled.isBehind) answers += 1;
      found += filled.found;
      oldestLedger = Math.min(oldestLedger, filled.oldestLedger);
    }
    if (answers === nodes) await log.commit([], withoutReach(log.state!, gap, oldestLedger));
    else round.isUnanswered = true;
    return found;
  }

  /** That ledgers are gone one answer may say wrongly: of two the one that has more counts. */
  async function readAgainIfPruned(request: ReadPage): Promise<Reading> {
    const reading = await read(request);
    if (reading.kind !== "pruned") return reading;
    const again = await read(request);
    return again.kind === "pruned" && again.oldestLedger > reading.oldestLedger ? reading : again;
  }

  /** Reads what this node holds of a gap, and of what is left of it by then. Undefined: it is of the network before. */
  async function fillFrom(node: number, gap: HistoryGap, round: Round, signal: AbortSignal) {
    const isFormer = round.isFormer.get(node) ?? await showsFormerNetwork(rpc, log.state!, { node, signal });
    round.isFormer.set(node, isFormer);
    if (isFormer) return undefined;
    const { contractIds, epoch } = gap;
    let [found, oldestLedger, isBehind] = [0, gap.fromLedger, false];
    const parts = log.state!.gaps.filter((left) =>
      left.epoch === epoch && left.contractIds.join() === contractIds.join() && left.fromLedger >= gap.fromLedger &&
      left.toLedger <= gap.toLedger
    );
    for (const { fromLedger, toLedger } of parts) {
      const oldest = round.oldest.get(node) ?? 0;
      oldestLedger = Math.max(oldestLedger, oldest);
      let from = Math.max(fromLedger, oldest);
      let place: Place = { startLedger: from };
      while (from <= toLedger && round.pages < PAGES_PER_POLL && !signal.aborted) {
        const reading = await readAgainIfPruned({ place, contractIds, node, signal });
        if (reading.kind === "behind") {
          isBehind = true;
          break;
        }
        if (reading.kind === "pruned") {
          round.oldest.set(node, reading.oldestLedger);
          oldestLedger = Math.max(oldestLedger, reading.oldestLedger);
          if (reading.oldestLedger <= from) break;
          from = reading.oldestLedger;
          place = { startLedger: from };
          continue;
        }
        round.pages += 1;
        const { page: { events, scannedLedger, cursor } } = reading;
        const upTo = Math.min(scannedLedger, toLedger);
        const next = upTo < from ? log.state! : withFilled(log.state!, contractIds, from, upTo);
        found += (await log.commit(events.filter(({ ledger }) => ledger <= toLedger), next)).added;
        from = Math.max(from, upTo + 1);
        if ("cursor" in place && place.cursor === cursor) break;
        place = { cursor };
      }
    }
    return { found, oldestLedger, isBehind };
  }

  return {
    again() {
      nextMs = -Infinity;
    },
    async fill(endsAtMs, signal) {
      const gaps = clock.monotonicMs() >= nextMs ? gapsToFill(log.state!) : [];
      const round: Round = {
        pages: 0,
        isUnanswered: false,
        failures: new Map(),
        isFormer: new Map(),
        oldest: new Map(),
      };
      let found = 0;
      for (const gap of gaps) {
        if (!signal.aborted) found += await fillGap(gap, round, signal);
        // The rest is read in the next polls.
        if (round.pages >= PAGES_PER_POLL || clock.monotonicMs() > endsAtMs) return found;
      }
      if (gaps.length > 0) nextMs = clock.monotonicMs() + (round.isUnanswered ? UNANSWERED_MS : FILL_EVERY_MS);
      return found;
    },
  };
}

/** What one node fails at, another may do, and there is a next time. What the store fails at is another matter. */
function nodeFailed(error: unknown): undefined {
  if (error instanceof StoreError) throw error;
}

const LOOK_AFTER_SECONDS = 180;
const LOOK_EVERY_MS = 30_000;
const DAY_SECONDS = 86_400;
/** Of the last minutes, and as many again where looks fail. */
const MOST_MARKS = 20;

/**
 * The state of a watcher that has scanned all up to `scannedLedger` by this time of the network (Unix seconds). A mark of
 * a later time is of a clock that turned out to be wrong: the next mark is about its ledgers, too.
 */
export function withMark(state: WatcherState, seconds: number): WatcherState {
  const { scannedLedger: ledger, secondLook = { marks: [] } } = state;
  const marks = secondLook.marks.filter((mark) => mark.seconds <= seconds);
  const last = marks.at(-1);
  const isFar = last === undefined || seconds - last.seconds >= LOOK_EVERY_MS / 1000;
  if (!isFar || ledger <= (last?.ledger ?? 0)) return state;
  return {
    ...state,
    secondLook: { ...secondLook, marks: [...marks, { ledger, seconds }].slice(-MOST_MARKS) },
  };
}

export interface SecondLook {
  /**
   * Reads a page of what was scanned some minutes ago once more, at another node where there is one; answers how many
   * events had been missing. Does nothing when nothing is due, or when it is not time for a call.
   */
  look(now: { seconds: number; lastNode: number }, signal: AbortSignal): Promise<number>;
}

/**
 * What a node left out of a page, another one, or a later answer, may have. What is older than events are kept is none of
 * it: it may have been told, and forgotten since.
 * @param keptDays for ever where it is 0
 */
export function createSecondLook({ rpc, clock, log, read, keptDays }: RepairParts & { keptDays: number }): SecondLook {
  let nextMs = -Infinity;

  /** The page at the first node that holds it, the one that answered last after all others; undefined when some did not answer. */
  async function readAtAny(
    place: Place,
    lastNode: number,
    signal: AbortSignal,
  ): Promise<Exclude<Reading, { kind: "behind" }> | undefined> {
    const nodes = rpc.nodes().length;
    const contractIds = watchedContracts(log.state!);
    let pruned: Extract<Reading, { kind: "pruned" }> | undefined;
    let isUnanswered = false;
    for (let nth = 1; nth <= nodes; nth++) {
      const node = (lastNode + nth) % nodes;
      // One of the network before has other events of these ledgers.
      const isOther = await showsFormerNetwork(rpc, log.state!, { node, signal }).catch(() => true);
      const reading = isOther ? undefined : await read({ place, contractIds, node, signal }).catch(() => undefined);
      if (reading?.kind === "page") return reading;
      if (reading?.kind !== "pruned") isUnanswered = true;
      else if (pruned === undefined || reading.oldestLedger < pruned.oldestLedger) pruned = reading;
    }
    return isUnanswered ? undefined : pruned;
  }

  return {
    async look({ seconds, lastNode }, signal) {
      const { scannedLedger, checkedLedger, secondLook = { marks: [] } } = log.state!;
      const { marks, rpcCursor } = secondLook;
      // The newest ledger that was scanned long enough ago.
      const due = marks.findLastIndex((mark) => mark.seconds + LOOK_AFTER_SECONDS <= seconds);
      const toLedger = Math.min(marks[due]?.ledger ?? 0, scannedLedger);
      const nowMs = clock.monotonicMs();
      if (nowMs < nextMs || toLedger <= checkedLedger) return 0;
      nextMs = nowMs + LOOK_EVERY_MS;
      const place = rpcCursor === undefined ? { startLedger: checkedLedger + 1 } : { cursor: rpcCursor };
      const reading = await readAtAny(place, lastNode, signal);
      // What fails now is looked at the next time; the first look has seen it anyway.
      if (reading === undefined) return 0;
      const page = reading.kind === "page" ? reading.page : undefined;
      const looked = reading.kind === "page" ? reading.page.scannedLedger : reading.oldestLedger - 1;
      const next: WatcherState = {
        ...log.state!,
        checkedLedger: Math.max(checkedLedger, Math.min(toLedger, looked)),
        secondLook: {
          marks: marks.slice(due),
          ...(page !== undefined && looked < toLedger ? { rpcCursor: page.cursor } : {}),
        },
      };
      const oldestMs = keptDays === 0 ? -Infinity : (seconds - keptDays * DAY_SECONDS) * 1_000;
      const isKept = ({ ledgerClosedAt }: RawEvent) => !(Date.parse(ledgerClosedAt) < oldestMs);
      const events = page?.events.filter((event) => event.ledger <= toLedger && isKept(event)) ?? [];
      return (await log.commit(events, next)).added;
    },
  };
}

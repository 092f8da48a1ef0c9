import type { Clock } from "../clock.ts";
import type { Head } from "../stellar/head.ts";
import { LIMITS } from "../stellar/observe.ts";
import type { NodesRpcClient } from "../stellar/rpc/client.ts";
import type { RawEvent } from "../stellar/rpc/schemas.ts";
import type { HistoryGap, WatcherState } from "../store/store.ts";
import { gapsToFill, watchedContracts, withFilled, withoutReach } from "./coverage.ts";
import type { Place } from "./page.ts";
import type { Reading, ReadPage } from "./reading.ts";

/** A page that was read again, or for the first time. */
export interface Backfilled {
  state: WatcherState;
  events: RawEvent[];
  kind: "rescan" | "gap" | "nothing";
}

/** Reads what the scan has not: events that appeared late, and gaps, among them what new contracts have had before. */
export interface Backfill {
  /** One page of it. `nothing`: nothing is due. A node that fails is asked again later. */
  step(state: WatcherState, lastNode: number, signal: AbortSignal): Promise<Backfilled>;
  /** These ledgers were scanned just now. */
  scanned(state: WatcherState): void;
  /** There are new gaps: they are tried at once. */
  again(): void;
}

export interface BackfillParts {
  rpc: Pick<NodesRpcClient, "nodes">;
  head: Pick<Head, "sequence" | "closeTime">;
  clock: Pick<Clock, "monotonicMs">;
  read: (request: ReadPage) => Promise<Reading>;
  /** For how many days events are kept: older ones may have been forgotten, and are not found again. 0: for ever. */
  keptDays: number;
}

/** What a node shows late it shows within this time. */
const RESCAN_MS = 120_000;
/** After a node that failed, or lagged. */
const RETRY_MS = 10_000;
const FILL_EVERY_MS = 600_000;
/** Where a node did not answer, or was behind. */
const UNANSWERED_MS = 60_000;
const DAY_SECONDS = 86_400;

type PageRead = Extract<Reading, { kind: "page" }>;

/** Whether a page is of the network as it is: not odd, and not of a node that shows the one before a reset. */
export function isOfNetwork({ verdict, answer }: PageRead, head: Pick<Head, "sequence" | "closeTime">): boolean {
  if (verdict === "odd") return false;
  const { latestLedger, latestLedgerCloseTime: closeTime = head.closeTime } = answer;
  return head.sequence - latestLedger <= LIMITS.ledgers && head.closeTime - closeTime <= RESCAN_MS / 1_000;
}

/** One way through all gaps: each is tried at every node. */
interface Round {
  done: Set<string>;
  /** The gap that is being read, and at which node. */
  key?: string;
  node: number;
  /** Where the next page begins; absent: where the gap does. */
  place?: { from: number; place: Place };
  /** The oldest ledger that any node holds, and how many have told. */
  oldest: number;
  told: number;
  /** Nodes that did not answer, or were behind: they are not asked again in this round. */
  silent: Set<number>;
}

const newRound = (): Round => ({ done: new Set(), node: 0, oldest: Infinity, told: 0, silent: new Set() });
const keyOf = ({ contractIds, toLedger }: HistoryGap) => `${toLedger} ${contractIds.join()}`;

export function createBackfill({ rpc, head, clock: { monotonicMs }, read, keptDays }: BackfillParts): Backfill {
  /** When ledgers were scanned by this process: order after a restart comes from close times alone. */
  const scannedAtMs = new Map<number, number>();
  let rescan: { settledLedger: number; place: Place } | undefined;
  let rescanAtMs = -Infinity;
  let epoch = 0;
  let fillAtMs = -Infinity;
  let round = newRound();

  function isDue({ ledger, closeTime }: WatcherState["rescans"][number]): boolean {
    const atMs = scannedAtMs.get(ledger);
    if (atMs !== undefined) return monotonicMs() - atMs >= RESCAN_MS;
    return head.closeTime - closeTime >= RESCAN_MS / 1_000;
  }

  /** A page, or undefined when the node fails, lags or shows another network. */
  async function tryRead(
    request: ReadPage,
    toLedger: number,
  ): Promise<Exclude<Reading, { kind: "behind" }> | undefined> {
    const reading = await read(request).catch(() => undefined);
    if (reading === undefined || reading.kind === "behind") return undefined;
    if (reading.kind === "pruned") return reading.oldestLedger > head.sequence ? undefined : reading;
    return isOfNetwork(reading, head) && reading.answer.latestLedger >= toLedger ? reading : undefined;
  }

  /** What one node has left out, or pruned, another may have. Undefined: one that may have it did not answer. */
  async function readBeside(lastNode: number, request: ReadPage, toLedger: number) {
    const nodes = rpc.nodes().length;
    let pruned: Awaited<ReturnType<typeof tryRead>>;
    for (let next = 1; next <= nodes; next++) {
      const reading = await tryRead({ ...request, node: (lastNode + next) % nodes }, toLedger);
      if (reading === undefined || reading.kind === "page") return reading;
      if (pruned?.kind !== "pruned" || reading.oldestLedger < pruned.oldestLedger) pruned = reading;
    }
    return pruned;
  }

  async function rescanPage(
    state: WatcherState,
    lastNode: number,
    signal: AbortSignal,
  ): Promise<Backfilled | undefined> {
    const { settledLedger, rescans } = state;
    const toLedger = Math.min(rescans.findLast(isDue)?.ledger ?? 0, state.scannedLedger);
    if (toLedger <= settledLedger || monotonicMs() < rescanAtMs) return undefined;
    const isGoingOn = rescan?.settledLedger === settledLedger;
    const place = isGoingOn ? rescan!.place : { startLedger: settledLedger + 1 };
    const reading = await readBeside(lastNode, { place, contractIds: watchedContracts(state), signal }, toLedger);
    if (reading === undefined) {
      rescanAtMs = monotonicMs() + RETRY_MS;
      return undefined;
    }
    const page = reading.kind === "page" ? reading.page : undefined;
    const upTo = page?.scannedLedger ?? (reading as { oldestLedger: number }).oldestLedger - 1;
    const settled = Math.max(settledLedger, Math.min(toLedger, upTo));
    rescan = page && settled < toLedger ? { settledLedger: settled, place: { cursor: page.cursor } } : undefined;
    const left = rescans.filter(({ ledger }) => ledger > settled);
    for (const { ledger } of rescans) if (ledger <= settled) scannedAtMs.delete(ledger);
    const gaps = gapsToFill(state);
    const isGap = ({ ledger }: RawEvent) => gaps.some((gap) => ledger >= gap.fromLedger && ledger <= gap.toLedger);
    const events = page?.events.filter((event) => event.ledger <= toLedger && isKept(event) && !isGap(event)) ?? [];
    return { kind: "rescan", state: { ...state, settledLedger: settled, rescans: left }, events };
  }

  function isKept({ ledgerClosedAt }: RawEvent): boolean {
    return keptDays === 0 || Date.parse(ledgerClosedAt) / 1_000 >= head.closeTime - keptDays * DAY_SECONDS;
  }

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
    while (true) {
      const { node, silent } = round;
      const { from, place } = round.place ?? { from: gap.fromLedger, place: { startLedger: gap.fromLedger } };
      const reading = silent.has(node) ? undefined : await tryRead({ place, contractIds, node, signal }, toLedger);
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
    { from, place, page }: { from: number; place: Place; page: PageRead["page"] },
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
      return await rescanPage(state, lastNode, signal) ?? await fillPage(state, signal);
    },
    scanned({ epoch: now, rescans }) {
      if (now !== epoch) scannedAtMs.clear();
      epoch = now;
      const last = rescans.at(-1);
      if (last !== undefined && !scannedAtMs.has(last.ledger)) scannedAtMs.set(last.ledger, monotonicMs());
      if (scannedAtMs.size > 2 * rescans.length + 2) {
        for (const ledger of scannedAtMs.keys()) {
          if (!rescans.some((mark) => mark.ledger === ledger)) scannedAtMs.delete(ledger);
        }
      }
    },
    again() {
      fillAtMs = -Infinity;
      round = newRound();
    },
  };
}

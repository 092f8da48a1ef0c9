/*
 * Decides which scanned ledgers to scan again, after two minutes, for events that appeared late. After that they are
 * settled. `gaps.ts` calls this before it fills gaps.
 */

import type { Clock } from "../clock.ts";
import type { Head } from "../stellar/head.ts";
import type { NodesRpcClient } from "../stellar/rpc/client.ts";
import type { RawEvent } from "../stellar/rpc/schemas.ts";
import type { WatcherState } from "../store/store.ts";
import { gapsToFill, watchedContracts } from "./coverage.ts";
import type { Place } from "./page.ts";
import { type Reading, readOfNetwork, type ReadPage } from "./reading.ts";

/** A page of a rescan or of a gap. */
export interface Backfilled {
  state: WatcherState;
  events: RawEvent[];
  kind: "rescan" | "gap" | "nothing";
}

/** Scans ledgers again and settles them. */
export interface Rescans {
  /** Reads one page. Undefined when nothing is due, or when a node fails. */
  page(state: WatcherState, lastNode: number, signal: AbortSignal): Promise<Backfilled | undefined>;
  /** Records when the newest ledgers were scanned. */
  scanned(state: WatcherState): void;
  /** The last page was not committed: the next one starts where the stored state ends. */
  restart(): void;
}

export interface RescanParts {
  rpc: Pick<NodesRpcClient, "nodes">;
  head: Pick<Head, "sequence" | "closeTime">;
  clock: Pick<Clock, "monotonicMs">;
  read: (request: ReadPage) => Promise<Reading>;
  /**
   * How many days the store keeps events. The rescan adds no older ones, which retention may have deleted. 0: forever.
   */
  keptDays: number;
}

/** A node shows a late event within this time. */
const RESCAN_MS = 120_000;
/** After a node failed or lagged. */
const RETRY_MS = 10_000;
const DAY_SECONDS = 86_400;

export function createRescans(parts: RescanParts): Rescans {
  const { rpc, head, clock: { monotonicMs }, keptDays } = parts;
  /** When this process scanned ledgers (monotonic ms). After a restart only close times tell. */
  const scannedAtMs = new Map<number, number>();
  /** Where the next page of an unfinished rescan starts. */
  let unfinished: { settledLedger: number; place: Place } | undefined;
  let retryAtMs = -Infinity;
  let epoch = 0;

  function isDue({ ledger, closeTime }: WatcherState["rescans"][number]): boolean {
    const atMs = scannedAtMs.get(ledger);
    if (atMs !== undefined) return monotonicMs() - atMs >= RESCAN_MS;
    return head.closeTime - closeTime >= RESCAN_MS / 1_000;
  }

  /**
   * Reads at the nodes after the one of the scan: another may hold events that it left out or pruned. Undefined when a
   * node does not answer.
   */
  async function readBeside(lastNode: number, request: ReadPage, toLedger: number) {
    const nodes = rpc.nodes().length;
    let pruned: Awaited<ReturnType<typeof readOfNetwork>>;
    for (let next = 1; next <= nodes; next++) {
      const reading = await readOfNetwork(parts, { ...request, node: (lastNode + next) % nodes }, toLedger);
      if (reading === undefined || reading.kind === "page") return reading;
      if (pruned?.kind !== "pruned" || reading.oldestLedger < pruned.oldestLedger) pruned = reading;
    }
    return pruned;
  }

  async function page(
    state: WatcherState,
    lastNode: number,
    signal: AbortSignal,
  ): Promise<Backfilled | undefined> {
    const { settledLedger, rescans } = state;
    const toLedger = Math.min(rescans.findLast(isDue)?.ledger ?? 0, state.scannedLedger);
    if (toLedger <= settledLedger || monotonicMs() < retryAtMs) return undefined;
    const isUnfinished = unfinished?.settledLedger === settledLedger;
    const place = isUnfinished ? unfinished!.place : { startLedger: settledLedger + 1 };
    const reading = await readBeside(lastNode, { place, contractIds: watchedContracts(state), signal }, toLedger);
    if (reading === undefined) {
      retryAtMs = monotonicMs() + RETRY_MS;
      return undefined;
    }
    const read = reading.kind === "page" ? reading.page : undefined;
    const upTo = read?.scannedLedger ?? (reading as { oldestLedger: number }).oldestLedger - 1;
    const settled = Math.max(settledLedger, Math.min(toLedger, upTo));
    unfinished = read && settled < toLedger ? { settledLedger: settled, place: { cursor: read.cursor } } : undefined;
    const left = rescans.filter(({ ledger }) => ledger > settled);
    for (const { ledger } of rescans) if (ledger <= settled) scannedAtMs.delete(ledger);
    const gaps = gapsToFill(state);
    const isGap = ({ ledger }: RawEvent) => gaps.some((gap) => ledger >= gap.fromLedger && ledger <= gap.toLedger);
    const events = read?.events.filter((event) => event.ledger <= toLedger && isKept(event) && !isGap(event)) ?? [];
    return { kind: "rescan", state: { ...state, settledLedger: settled, rescans: left }, events };
  }

  function isKept({ ledgerClosedAt }: RawEvent): boolean {
    return keptDays === 0 || Date.parse(ledgerClosedAt) / 1_000 >= head.closeTime - keptDays * DAY_SECONDS;
  }

  return {
    page,
    restart() {
      unfinished = undefined;
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
  };
}

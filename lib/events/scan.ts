import { GatewayError } from "../errors.ts";
import { type EventsAnswer, type Health, type RpcClient, RpcError } from "../stellar/rpc/rpc.ts";
import type { WatcherState } from "../store/store.ts";
import { checkPage, type Page } from "./page.ts";
import {
  afterPruning,
  afterReset,
  atCommitted,
  atOldest,
  fromOldestAgain,
  joinContractIds,
  judge,
  nextLedger,
  type Stand,
  type TimedLedger,
} from "./stand.ts";

/** What one look at the node came to. */
export type Look =
  /** A believed page; `stand` is where it was read from, `nodeLedger` the newest ledger of the node that answered. */
  | { kind: "page"; stand: Stand; page: Page; newest: TimedLedger; nodeLedger: number }
  /** The node shows less than has been seen already: nothing of it is believed. */
  | { kind: "lagging"; reason: string };

export interface Scan {
  /** Where to read on from what is committed; undefined: nothing yet. */
  begin(committed: WatcherState | undefined, signal: AbortSignal): Promise<Stand>;
  /** Reads the next page. Rejects with `upstream_error` or `RpcError` when the node fails or contradicts itself. */
  next(stand: Stand, signal: AbortSignal): Promise<Look>;
}

/** What the node is asked for at a time, and what is asked for where an operator of a node allows less. */
const PAGE_EVENTS = 1_000;
const SMALL_PAGE_EVENTS = 100;
/** How often a page is asked for anew after the place to read from was moved (pruned, reset). */
const MAX_MOVES = 4;

const OUT_OF_RANGE = -32600;
const INVALID_PARAMS = -32602;

/** Asks the node for pages of events and tells lag, pruning and a reset network apart (see `stellar-rpc`'s getEvents). */
export function createScan(parts: {
  rpc: RpcClient;
  contractIds: readonly string[];
  now: () => number;
  pageEvents?: number;
}): Scan {
  const { rpc, contractIds, now } = parts;
  const watched = joinContractIds(contractIds);
  let pageEvents = parts.pageEvents ?? PAGE_EVENTS;

  async function ask(
    state: WatcherState,
    signal: AbortSignal,
  ): Promise<EventsAnswer | { oldest: number; error: RpcError }> {
    const from = state.rpcCursor === undefined ? { startLedger: state.scannedLedger + 1 } : { cursor: state.rpcCursor };
    try {
      return await rpc.getEvents({ ...from, contractIds: [...contractIds], limit: pageEvents }, { signal });
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      const range = /ledger range: (\d+) - (\d+)/.exec(error.message);
      if (error.code === OUT_OF_RANGE && range !== null) return { oldest: Number(range[1]), error };
      if (error.code !== INVALID_PARAMS || pageEvents <= SMALL_PAGE_EVENTS || !/limit/i.test(error.message)) {
        throw error;
      }
      pageEvents = SMALL_PAGE_EVENTS;
      return await ask(state, signal);
    }
  }

  /** The node's range with its newest ledger's close time; older nodes say that only in getLatestLedger, or never. */
  async function lookAround(signal: AbortSignal): Promise<{ health: Health; newest: TimedLedger }> {
    const health = await rpc.getHealth({ signal });
    if (health.latestLedgerCloseTime) {
      return { health, newest: { sequence: health.latestLedger, closeTime: health.latestLedgerCloseTime } };
    }
    const latest = await rpc.getLatestLedger({ signal });
    return { health, newest: { sequence: latest.sequence, closeTime: latest.closeTime ?? 0 } };
  }

  /** The newest ledger of an answer with its close time, which costs another call where an older node left it out. */
  async function newestOf(answer: EventsAnswer, state: WatcherState, signal: AbortSignal): Promise<TimedLedger> {
    if (answer.latestLedgerCloseTime) return { sequence: answer.latestLedger, closeTime: answer.latestLedgerCloseTime };
    if (answer.latestLedger === state.latestLedger) {
      return { sequence: state.latestLedger, closeTime: state.latestLedgerCloseTime };
    }
    const { newest } = await lookAround(signal);
    return newest.sequence < answer.latestLedger ? { sequence: answer.latestLedger, closeTime: 0 } : newest;
  }

  function lagging(state: WatcherState, sequence: number): { kind: "lagging"; reason: string } {
    return {
      kind: "lagging",
      reason: `the RPC node shows ledger ${sequence}, ledger ${state.latestLedger} has been seen`,
    };
  }

  /** Where to read on when the node does not have what comes next, undefined when it only lags. */
  async function moved(stand: Stand, prunedBelow: number | undefined, signal: AbortSignal): Promise<Stand | undefined> {
    const { health, newest } = await lookAround(signal);
    const verdict = judge(stand.state, newest);
    if (verdict === "reset") return afterReset(stand, health, newest, now());
    if (verdict === "lagging" || prunedBelow === undefined || nextLedger(stand.state) >= prunedBelow) return undefined;
    return afterPruning(stand, prunedBelow, now());
  }

  return {
    async begin(committed, signal) {
      if (committed?.contractIds === watched) return atCommitted(committed);
      if (committed !== undefined) {
        const stand = atCommitted({ ...committed, contractIds: watched });
        const before = new Set(committed.contractIds.split(","));
        // Without a contract that was not watched before, what is held is all there is to hold.
        if (watched.split(",").every((id) => before.has(id))) return stand;
        const { health } = await lookAround(signal);
        return fromOldestAgain(stand, health.oldestLedger, now());
      }
      const { health, newest } = await lookAround(signal);
      return atOldest(0, watched, health, newest);
    },

    async next(from, signal) {
      let stand = from;
      for (let moves = 0; moves < MAX_MOVES; moves++) {
        const answer = await ask(stand.state, signal);
        if ("error" in answer) {
          const on = await moved(stand, answer.oldest, signal);
          if (on === undefined) return { kind: "lagging", reason: `the RPC node answered: ${answer.error.message}` };
          stand = on;
          continue;
        }
        const newest = await newestOf(answer, stand.state, signal);
        const verdict = judge(stand.state, newest);
        if (verdict === "reset") {
          // A new epoch is not begun on one answer's word: a second one has to agree.
          const on = await moved(stand, undefined, signal);
          if (on === undefined) return lagging(stand.state, answer.latestLedger);
          stand = on;
          continue;
        }
        if (verdict === "lagging" || answer.latestLedger < stand.state.latestLedger) {
          return lagging(stand.state, answer.latestLedger);
        }
        const page = checkPage(answer, stand.state, contractIds);
        return { kind: "page", stand, page, newest, nodeLedger: answer.latestLedger };
      }
      throw new GatewayError("upstream_error", "the RPC node keeps moving the ledgers it holds");
    },
  };
}

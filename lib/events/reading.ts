import type { EventsAnswer } from "../stellar/rpc/schemas.ts";
import type { NodesRpcClient } from "../stellar/rpc/client.ts";
import { RpcError } from "../stellar/rpc/json_rpc.ts";
import { checkPage, ledgerOfPlace, type Page, type Place } from "./page.ts";

/** What one node answered when it was asked for a page. */
export type Reading =
  | { kind: "page"; page: Page; answer: EventsAnswer; node: number }
  /** No longer: the oldest ledger it holds lies above the place. */
  | { kind: "pruned"; oldestLedger: number }
  /** Not yet: its newest ledger lies below the place. */
  | { kind: "behind"; latestLedger: number };

export interface ReadPage {
  place: Place;
  contractIds: readonly string[];
  /** This node, by its place in the list; whichever is well when absent. */
  node?: number;
  signal?: AbortSignal;
}

const PAGE_EVENTS = 1_000;
/** After so many pages that fitted, a larger one is tried. */
const PAGES_BEFORE_GROWTH = 20;

/**
 * Reads pages of events. One that is larger than what is read of an answer, or than what the node's operator allows, is
 * halved until it fits; later pages grow again. Rejects with what the node rejected with, and with `upstream_error` for
 * what contradicts itself.
 */
export function createReader(
  rpc: Pick<NodesRpcClient, "getEvents">,
  mostEvents = PAGE_EVENTS,
): (request: ReadPage) => Promise<Reading> {
  let most = mostEvents;
  let limit = mostEvents;
  let fitted = 0;

  async function ask({ place, contractIds, node, signal }: ReadPage): Promise<Reading> {
    let answeredBy = node ?? 0;
    const options = { node, signal, answered: (by: number) => void (answeredBy = by) };
    const answer = await rpc.getEvents({ ...place, contractIds: [...contractIds], limit }, options);
    if (++fitted >= PAGES_BEFORE_GROWTH) {
      limit = Math.min(most, limit * 2);
      fitted = 0;
    }
    return { kind: "page", page: checkPage(answer, place, contractIds), answer, node: answeredBy };
  }

  return async function read(request) {
    while (true) {
      try {
        return await ask(request);
      } catch (error) {
        if (!(error instanceof RpcError)) throw error;
        if (error.range !== undefined && error.kind === "out_of_range") {
          const ledger = ledgerOfPlace(request.place);
          const { oldest, latest } = error.range;
          if (ledger < oldest) return { kind: "pruned", oldestLedger: oldest };
          if (ledger > latest) return { kind: "behind", latestLedger: latest };
        }
        if (limit === 1 || (error.kind !== "too_large" && error.kind !== "limit")) throw error;
        limit = Math.ceil(limit / 2);
        fitted = 0;
        if (error.kind === "limit") most = limit;
      }
    }
  };
}

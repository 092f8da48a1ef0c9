import { GatewayError } from "../errors.ts";
import type { EventsAnswer } from "../stellar/rpc/schemas.ts";
import type { Head } from "../stellar/head.ts";
import { LIMITS, type Verdict } from "../stellar/observe.ts";
import type { NodesRpcClient } from "../stellar/rpc/client.ts";
import { RpcError } from "../stellar/rpc/json_rpc.ts";
import { checkPage, ledgerOfPlace, type Page, type Place } from "./page.ts";

/** The answer of one node to a request for a page. */
export type Reading =
  | { kind: "page"; page: Page; answer: EventsAnswer; node: number; verdict: Verdict | undefined }
  /** The place is below the oldest ledger that the node holds. */
  | { kind: "pruned"; oldestLedger: number }
  /** The place is above the node's newest ledger. */
  | { kind: "behind"; latestLedger: number };

/** A page of one node, or the oldest ledger of all. `isSilent`: a node did not answer. */
export type ReadAnywhere = Exclude<Reading, { kind: "pruned" }> | {
  kind: "pruned";
  oldestLedger: number;
  isSilent: boolean;
};

export interface ReadPage {
  place: Place;
  contractIds: readonly string[];
  /** The node of this index; one that is well when absent. */
  node?: number;
  signal?: AbortSignal;
}

const PAGE_EVENTS = 1_000;
/** After this many pages the reader tries a larger one. */
const PAGES_BEFORE_GROWTH = 20;

/**
 * Reads pages of events. Halves a page that is larger than the gateway reads or the node's operator allows, and later
 * grows again. Rejects with the node's error, or with `upstream_error` for an answer that contradicts itself.
 */
export function createReader(
  rpc: Pick<NodesRpcClient, "getEvents">,
  mostEvents = PAGE_EVENTS,
): (request: ReadPage) => Promise<Reading> {
  let most = mostEvents;
  let limit = mostEvents;
  let fitted = 0;

  async function ask({ place, contractIds, node, signal }: ReadPage): Promise<Reading> {
    let by = { node: node ?? 0, verdict: undefined as Verdict | undefined };
    const answered = (node: number, verdict: Verdict | undefined) => void (by = { node, verdict });
    const options = { node, signal, answered };
    const answer = await rpc.getEvents({ ...place, contractIds: [...contractIds], limit }, options);
    if (++fitted >= PAGES_BEFORE_GROWTH) {
      limit = Math.min(most, limit * 2);
      fitted = 0;
    }
    return { kind: "page", page: checkPage(answer, place, contractIds), answer, ...by };
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

/** Asks all nodes for a page that one has pruned. */
export async function readAnywhere(
  read: (request: ReadPage) => Promise<Reading>,
  rpc: Pick<NodesRpcClient, "nodes">,
  request: ReadPage,
  { oldestLedger: oldest }: { oldestLedger: number },
): Promise<ReadAnywhere> {
  let [oldestLedger, isSilent] = [oldest, false];
  for (const node of rpc.nodes().length > 1 ? rpc.nodes().keys() : []) {
    const reading = await read({ ...request, node }).catch(() => undefined);
    if (reading?.kind === "page" && reading.verdict !== "odd") return reading;
    if (reading?.kind === "pruned") oldestLedger = Math.min(oldestLedger, reading.oldestLedger);
    else isSilent = true;
  }
  return { kind: "pruned", oldestLedger, isSilent };
}

/**
 * The oldest ledger that any node of the network holds, undefined while no node reports one. `isWhole`: all nodes have.
 */
export async function oldestHeld(
  rpc: Pick<NodesRpcClient, "nodes" | "getHealth">,
  signal: AbortSignal,
): Promise<{ oldest: number | undefined; isWhole: boolean }> {
  const asked = rpc.nodes().map(async (_, node) => {
    // One odd answer may be a mistake; a second one shows another network.
    for (let asked = 0; asked < 2; asked++) {
      let verdict: Verdict | undefined;
      const { oldestLedger } = await rpc.getHealth({ node, signal, answered: (_by, given) => void (verdict = given) });
      if (verdict !== "odd") return oldestLedger;
    }
    throw new Error("the node shows another network");
  });
  const answers = await Promise.allSettled(asked);
  const reported = answers.flatMap((answer) => answer.status === "fulfilled" ? [answer.value] : []);
  const failed = answers.find((answer) => answer.status === "rejected");
  if (reported.length === 0 && failed?.reason instanceof GatewayError) throw failed.reason;
  const oldest = reported.length === 0 ? undefined : Math.max(1, Math.min(...reported));
  return { oldest, isWhole: reported.length === answers.length };
}

/** A node this far behind may show the network from before a reset. */
const MOST_BEHIND_SECONDS = 120;

type PageRead = Extract<Reading, { kind: "page" }>;

/** Whether a page is of the current network: neither odd, nor of a node that shows it before a reset. */
export function isOfNetwork({ verdict, answer }: PageRead, head: Pick<Head, "sequence" | "closeTime">): boolean {
  if (verdict === "odd") return false;
  const { latestLedger, latestLedgerCloseTime: closeTime = head.closeTime } = answer;
  return head.sequence - latestLedger <= LIMITS.ledgers && head.closeTime - closeTime <= MOST_BEHIND_SECONDS;
}

/**
 * A page, or the oldest ledger of a node that pruned it. Undefined when the node fails, shows another network, or lacks
 * `toLedger`.
 */
export async function readOfNetwork(
  { read, head }: { read: (request: ReadPage) => Promise<Reading>; head: Pick<Head, "sequence" | "closeTime"> },
  request: ReadPage,
  toLedger: number,
): Promise<Exclude<Reading, { kind: "behind" }> | undefined> {
  const reading = await read(request).catch(() => undefined);
  if (reading === undefined || reading.kind === "behind") return undefined;
  if (reading.kind === "pruned") return reading.oldestLedger > head.sequence ? undefined : reading;
  return isOfNetwork(reading, head) && reading.answer.latestLedger >= toLedger ? reading : undefined;
}

import type { Clock } from "../clock.ts";
import { GatewayError } from "../errors.ts";
import type { NodesRpcClient } from "../stellar/rpc/client.ts";
import { RpcError } from "../stellar/rpc/json_rpc.ts";
import type { AppliedTransaction } from "../stellar/rpc/schemas.ts";
import { type NewEvent, parseEventId, type PaymentFacts } from "../store/event.ts";
import type { Notice } from "./notices.ts";

/** How the watcher finds assets, which events do not name. */
export interface Movements {
  /** Whether this event needs an asset. */
  isOne(event: NewEvent): boolean;
  /** The contract of its asset, undefined when the transaction does not show it. Must not throw. */
  assetIn(event: NewEvent, transaction: AppliedTransaction): string | undefined;
  /** Further facts of a payment or of a claim. Must not throw. */
  paymentIn?(event: NewEvent, transaction: AppliedTransaction): PaymentFacts | undefined;
}

/** Adds assets to events, and what their transactions show of payments. Events of unknown transactions stay as they are. */
export type AssetLookup = (events: NewEvent[]) => Promise<NewEvent[]>;

/** The protocol's limit for one `getTransactions`. */
const MOST_TRANSACTIONS = 200;
const AT_ONCE = 4;
/** A node behind a load balancer may be a ledger late. */
const TRIES = 3;
const PAUSE_MS = 500;
/** After this many failed polls the watcher goes on: a late event is worse than one without its asset. */
const FAILED_POLLS = 3;

/**
 * Reads the transactions of movements, in one upstream call per ledger. It makes more calls when over 200 transactions
 * lie between them, or when the node returns fewer.
 */
export function createAssetLookup({ rpc, clock, movements, onNotice, stopping }: {
  rpc: Pick<NodesRpcClient, "getTransactions">;
  clock: Pick<Clock, "wait">;
  movements: Movements;
  onNotice(notice: Notice): void;
  stopping: AbortSignal;
}): AssetLookup {
  /** Failed polls of each ledger, until a poll succeeds. */
  const failed = new Map<number, number>();
  /** A ledger was skipped, and none has succeeded since: the next failure skips at once. */
  let isSilent = false;
  /** How many ledgers succeeded. */
  let succeeded = 0;

  /** Returns the transactions of these events of one ledger, by hash. */
  async function transactionsOf(events: NewEvent[]): Promise<Map<string, AppliedTransaction>> {
    const { ledger } = events[0]!;
    const found = new Map<string, AppliedTransaction>();
    const places = events.map(placeOf).sort((a, b) => a - b);
    let most = MOST_TRANSACTIONS;
    for (let from = 0; from < places.length;) {
      const first = places[from]!;
      const within = places.slice(from).filter((place) => place < first + most - 1);
      const limit = within.at(-1)! - first + 2;
      const wanted = new Set(events.filter((event) => within.includes(placeOf(event))).map(({ txHash }) => txHash));
      try {
        for (const transaction of await readPage(ledger, first, limit, wanted)) {
          found.set(transaction.txHash, transaction);
        }
        from += within.length;
      } catch (error) {
        const isTooMuch = error instanceof RpcError && (error.kind === "limit" || error.kind === "too_large");
        if (!isTooMuch || limit === 2) throw error;
        most = Math.ceil(limit / 2);
      }
    }
    return found;
  }

  async function readPage(ledger: number, first: number, limit: number, wanted: Set<string>) {
    // Two before the first: this includes it whether a node counts from 0 or from 1.
    const cursor = String((BigInt(ledger) << 32n) | (BigInt(Math.max(0, first - 2)) << 12n) | 1n);
    for (let tried = 1;; tried += 1) {
      const { transactions, latestLedger } = await rpc.getTransactions({ cursor, limit }, { signal: stopping });
      const hashes = new Set(transactions.map(({ txHash }) => txHash));
      if ([...wanted].every((hash) => hashes.has(hash))) return transactions;
      if (tried === TRIES) {
        if (latestLedger >= ledger) return transactions;
        throw new GatewayError("upstream_error", `the RPC node does not show ledger ${ledger} yet`);
      }
      await clock.wait(PAUSE_MS, stopping);
    }
  }

  /** @throws the node's error, until it has failed too often */
  async function assetsOf(events: NewEvent[]): Promise<NewEvent[]> {
    const { ledger } = events[0]!;
    try {
      const transactions = await transactionsOf(events);
      isSilent = false;
      succeeded += 1;
      return events.map((event) => {
        const transaction = transactions.get(event.txHash);
        if (transaction === undefined) return event;
        const asset = movements.assetIn(event, transaction);
        const payment = movements.paymentIn?.(event, transaction);
        return {
          ...event,
          ...(asset === undefined ? {} : { asset }),
          ...(payment === undefined ? {} : { payment }),
        };
      });
    } catch (error) {
      const polls = (failed.get(ledger) ?? 0) + 1;
      // A node that refuses would refuse again; one in trouble may recover.
      const isRefused = error instanceof RpcError && error.kind !== "trouble" && error.kind !== "other";
      failed.set(ledger, polls);
      if (isRefused) return events;
      if (polls < FAILED_POLLS && !isSilent) throw error;
      isSilent = true;
      return events;
    }
  }

  return async function withAssets(events) {
    const wanted = events.filter((event) => event.asset === undefined && movements.isOne(event));
    const ledgers = [...Map.groupBy(wanted, ({ ledger }) => ledger).values()];
    const learnt = new Map<string, NewEvent>();
    for (let at = 0; at < ledgers.length; at += AT_ONCE) {
      const before = succeeded;
      const some = await Promise.all(ledgers.slice(at, at + AT_ONCE).map(assetsOf));
      for (const event of some.flat()) learnt.set(event.id, event);
      // Each of them may run into a time-out.
      if (isSilent && succeeded === before) break;
    }
    for (const [one] of ledgers) failed.delete(one!.ledger);
    const unknown = wanted.filter(({ id }) => learnt.get(id)?.asset === undefined);
    if (unknown.length > 0) {
      const message = `the transactions of ${unknown.length} events do not show their assets; the first is ` +
        unknown[0]!.id;
      onNotice({ kind: "asset_unknown", message, events: unknown.length });
    }
    return events.map((event) => learnt.get(event.id) ?? event);
  };
}

/** The index of an event's transaction in its ledger (SEP-35). */
function placeOf({ id }: NewEvent): number {
  return (parseEventId(id)?.order ?? 0) >>> 12;
}

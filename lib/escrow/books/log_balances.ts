import { setImmediate as yieldToOthers } from "node:timers/promises";
import { heightOf, type LoggedEvent, type NewEvent } from "../../store/event.ts";
import type { EventStore } from "../../store/store.ts";
import { newestLedgerFirst } from "../assets/escrow_log.ts";
import { UNKNOWN_ASSET } from "../assets/holdings.ts";
import { MOST_ASSETS, MOVEMENTS } from "../assets/owed.ts";

/**
 * Sums by asset: put in less taken out, each movement in its own asset. A sum is negative when more of an asset was taken out
 * than was put in. `UNKNOWN_ASSET` has the movements whose asset the log does not know.
 */
export type Sums = ReadonlyMap<string, bigint>;

/** The payments authorised for a merchant since its last claim, expired ones included. */
export interface Unclaimed {
  /** The id of the last claim's event; empty before the first. */
  claimId: string;
  count: number;
  sums: Sums;
}

/** The balances of the escrow contract by the log, up to one ledger. */
export interface LogBalances {
  /** By device hash. */
  cards: ReadonlyMap<string, Sums>;
  merchants: ReadonlyMap<string, Unclaimed>;
  /** The assets of the movements, at most the first `MOST_ASSETS`. */
  assets: ReadonlySet<string>;
  /** The most that claims paid out in each asset for payments that were authorised in another one. */
  paidForOthers: Sums;
  /** Counts the events up to this ledger, which is not below an earlier one. */
  advance(toLedger: number): Promise<void>;
}

const PAGE = 500;

/** Reads the log of one epoch, page by page. Memory is for cards and merchants, not for movements. */
export function createLogBalances({ log, paymentEscrow, epoch, signal }: {
  log: Pick<EventStore, "read">;
  paymentEscrow: string;
  epoch: number;
  /** Ends `advance` early. */
  signal?: AbortSignal;
}): LogBalances {
  const cards = new Map<string, Map<string, bigint>>();
  const merchants = new Map<string, Unclaimed & { sums: Map<string, bigint> }>();
  const assets = new Set<string>();
  const paidForOthers = new Map<string, bigint>();
  const filter = { types: MOVEMENTS, fromHeight: heightOf(epoch, 0), toHeight: heightOf(epoch + 1, 0) - 1 };
  let sequence = 0;
  /** Events of later ledgers. */
  let ahead: LoggedEvent[] = [];

  function unclaimedOf(merchant: string) {
    const known = merchants.get(merchant) ?? { claimId: "", count: 0, sums: new Map() };
    merchants.set(merchant, known);
    return known;
  }

  function count(event: Pick<NewEvent, "type" | "id" | "deviceHash" | "merchant" | "asset" | "amount">): void {
    const { type, deviceHash, merchant, asset = UNKNOWN_ASSET } = event;
    const amount = BigInt(event.amount ?? 0);
    if (asset !== UNKNOWN_ASSET && assets.size < MOST_ASSETS) assets.add(asset);
    if (deviceHash !== undefined) {
      const sums = cards.get(deviceHash) ?? new Map<string, bigint>();
      cards.set(deviceHash, sums);
      add(sums, asset, type === "escrow.funded" ? amount : -amount);
    }
    if (merchant === undefined) return;
    const unclaimed = unclaimedOf(merchant);
    const isAfterClaim = newestLedgerFirst(event, { id: unclaimed.claimId }) < 0;
    if (type === "payment.authorized" && isAfterClaim) {
      unclaimed.count += 1;
      add(unclaimed.sums, asset, amount);
    } else if (type === "payment.claimed" && isAfterClaim) {
      for (const [other, sum] of unclaimed.sums) if (other !== asset) add(paidForOthers, asset, sum);
      merchants.set(merchant, { claimId: event.id, count: 0, sums: new Map() });
    }
  }

  return {
    cards,
    merchants,
    assets,
    paidForOthers,
    async advance(toLedger) {
      const isDue = ({ ledger }: LoggedEvent) => ledger <= toLedger;
      for (const event of ahead.filter(isDue)) count(event);
      ahead = ahead.filter((event) => !isDue(event));
      for (let isAll = false; !isAll && !signal?.aborted;) {
        const page = await log.read({ filter, after: sequence, order: "asc", limit: PAGE });
        for (const event of page.filter(({ contractId }) => contractId === paymentEscrow)) {
          if (isDue(event)) count(event);
          else ahead.push(event);
        }
        sequence = page.at(-1)?.sequence ?? sequence;
        isAll = page.length < PAGE;
        await yieldToOthers();
      }
    },
  };
}

function add(sums: Map<string, bigint>, asset: string, amount: bigint): void {
  sums.set(asset, (sums.get(asset) ?? 0n) + amount);
}

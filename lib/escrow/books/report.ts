/*
 * Sums up the movements of a range of time by asset: the amounts before it, in it, and after it. Times are close times of
 * ledgers. Each payment counts once, by its state of now.
 */

import { setImmediate as yieldToOthers } from "node:timers/promises";
import { GatewayError } from "../../errors.ts";
import { unixSeconds } from "../../store/codec.ts";
import { heightOf, type LoggedEvent, parseEventId } from "../../store/event.ts";
import type { PaymentPlace, StoredPayment } from "../../store/payment.ts";
import type { EventStore, Store, WatcherState } from "../../store/store.ts";
import { UNKNOWN_ASSET } from "../assets/holdings.ts";
import { MOVEMENTS } from "../assets/owed.ts";
import { lastSolvency } from "../assets/solvency.ts";
import { paymentsHoldTo } from "../payments/projection.ts";

/** Bounds of close times, Unix seconds: `from` inclusive, `to` exclusive. */
export interface ReportRange {
  from: number;
  to: number;
}

/**
 * The books of an asset in its smallest unit: `opening + funded − defunded − swept − claimed − expired = closing`. Claims count
 * in the asset that was authorised.
 */
export interface AssetReport {
  /** Empty: the log does not know the asset. */
  asset: string;
  opening: bigint;
  funded: bigint;
  defunded: bigint;
  swept: bigint;
  claimed: bigint;
  expired: bigint;
  closing: bigint;
  /** Paid out by claims of payments that were authorised in another asset. No part of the sum. */
  bypass: bigint;
}

export interface Report {
  epoch: number;
  /** By asset. */
  assets: AssetReport[];
  /** Payments that may have been claimed or not. They stay in `closing`. At most `MOST_UNKNOWN`, the oldest first. */
  unknown: StoredPayment[];
  unknownCount: number;
  /** False: the log has a gap, or begins after the contract, and the sums lack its part. */
  isComplete: boolean;
  /** The log and the payments hold up to this ledger. */
  toLedger: number;
}

export const MOST_UNKNOWN = 1_000;
const PAGE = 500;
const COLUMN_OF: Record<string, "funded" | "defunded" | "swept"> = {
  "escrow.funded": "funded",
  "escrow.defunded": "defunded",
  "escrow.swept": "swept",
};

/**
 * Reads the escrow's movements and the payments of one epoch, page by page, in constant memory.
 * @throws {GatewayError} `invalid_request` for a range that the log does not have, `unavailable` while the payments do not reach
 * the end of the log
 */
export async function report(
  { store, paymentEscrow }: { store: Pick<Store, "events" | "payments" | "sharedState">; paymentEscrow: string },
  range: ReportRange,
): Promise<Report> {
  const state = await store.events.watcherState();
  const begins = state === undefined ? [] : await beginnings(store.events, state.epoch);
  const epoch = epochOf(range, begins);
  const toLedger = await paymentsHoldTo(store);
  if (toLedger < state!.scannedLedger) {
    throw new GatewayError(
      "unavailable",
      `the payments hold up to ledger ${toLedger} only; retry when a gateway has derived the others`,
    );
  }
  const books = createBooks(range);
  for await (const event of movementsOf(store.events, paymentEscrow, epoch)) {
    books.move(event, COLUMN_OF[event.type]!, unixSeconds(event.ledgerClosedAt));
  }
  const isOwn = (one: StoredPayment) => one.contractId === paymentEscrow && parseEventId(one.id)!.epoch === epoch;
  const unknown: StoredPayment[] = [];
  let unknownCount = 0;
  for (const one of ["claimed", "expired", "unknown"] as const) {
    for await (const payment of paymentsOf(store, one, range.to)) {
      if (!isOwn(payment)) continue;
      const { asset, claim, expired } = payment;
      if (one === "claimed") {
        books.move(payment, "claimed", claim!.claimedAt);
        if (claim!.asset !== undefined && claim!.asset !== asset) {
          books.bypass({ ...payment, asset: claim!.asset }, claim!.claimedAt);
        }
      } else if (one === "expired") books.move(payment, "expired", expired!.at);
      else if (++unknownCount <= MOST_UNKNOWN) unknown.push(payment);
    }
  }
  const isComplete = await hasAll(store, state!, epoch, paymentEscrow);
  return { epoch, assets: books.assets(), unknown, unknownCount, isComplete, toLedger };
}

type Moved = Pick<LoggedEvent, "asset" | "amount">;
type Column = "funded" | "defunded" | "swept" | "claimed" | "expired";

function createBooks({ from, to }: ReportRange) {
  const assets = new Map<string, AssetReport>();

  function of(asset = UNKNOWN_ASSET): AssetReport {
    const none = {
      opening: 0n,
      funded: 0n,
      defunded: 0n,
      swept: 0n,
      claimed: 0n,
      expired: 0n,
      closing: 0n,
      bypass: 0n,
    };
    const books = assets.get(asset) ?? { asset, ...none };
    assets.set(asset, books);
    return books;
  }

  return {
    move({ asset, amount = "0" }: Moved, column: Column, at: number): void {
      if (at >= to) return;
      const books = of(asset);
      const change = column === "funded" ? BigInt(amount) : -BigInt(amount);
      if (at < from) books.opening += change;
      else books[column] += BigInt(amount);
      books.closing += change;
    },
    bypass({ asset, amount = "0" }: Moved, at: number): void {
      if (at >= from && at < to) of(asset).bypass += BigInt(amount);
    },
    assets: () => [...assets.values()].sort((one, other) => (one.asset < other.asset ? -1 : 1)),
  };
}

async function* movementsOf(log: Pick<EventStore, "read">, paymentEscrow: string, epoch: number) {
  const filter = {
    types: Object.keys(COLUMN_OF),
    fromHeight: heightOf(epoch, 0),
    toHeight: heightOf(epoch + 1, 0) - 1,
  };
  for (let after = 0;;) {
    const page = await log.read({ filter, after, order: "asc", limit: PAGE });
    yield* page.filter(({ contractId }) => contractId === paymentEscrow);
    if (page.length < PAGE) return;
    after = page.at(-1)!.sequence;
    await yieldToOthers();
  }
}

async function* paymentsOf({ payments }: Pick<Store, "payments">, state: StoredPayment["state"], to: number) {
  let after: PaymentPlace | undefined;
  while (true) {
    const page = await payments.list({ filter: { state, to }, order: "asc", after, limit: PAGE });
    yield* page;
    if (page.length < PAGE) return;
    after = page.at(-1)!;
    await yieldToOthers();
  }
}

/** The time of the oldest event of each epoch, Unix seconds; undefined without one. */
async function beginnings(log: Pick<EventStore, "read">, epochs: number): Promise<(number | undefined)[]> {
  const found: (number | undefined)[] = [];
  for (let epoch = 0; epoch <= epochs; epoch++) {
    const event = await oldest(log, epoch);
    found.push(event && unixSeconds(event.ledgerClosedAt));
  }
  return found;
}

/** Looks for the lowest ledger with an event by halves, because the log may have learned of it last. At most 33 reads. */
async function oldest(log: Pick<EventStore, "read">, epoch: number): Promise<LoggedEvent | undefined> {
  let [low, high] = [heightOf(epoch, 0), heightOf(epoch + 1, 0) - 1];
  const upTo = async (toHeight: number) => {
    const filter = { types: MOVEMENTS, fromHeight: heightOf(epoch, 0), toHeight };
    return (await log.read({ filter, order: "asc", limit: 1 }))[0];
  };
  let found = await upTo(high);
  while (found !== undefined && low < high) {
    const middle = low + Math.floor((high - low) / 2);
    const before = await upTo(middle);
    if (before === undefined) low = middle + 1;
    else [high, found] = [middle, before];
  }
  return found;
}

/**
 * The epoch of a range.
 * @throws {GatewayError} `invalid_request` when the log does not have the range
 */
function epochOf({ from, to }: ReportRange, begins: readonly (number | undefined)[]): number {
  const time = (seconds: number) => new Date(seconds * 1_000).toISOString().replace(".000Z", "Z");
  const held = begins.flatMap((begin, epoch) => (begin === undefined ? [] : [{ epoch, begin }]));
  const ranges = held.map(({ begin }, at) => {
    const next = held[at + 1];
    return next === undefined ? `from ${time(begin)} on` : `from ${time(begin)} to ${time(next.begin)}`;
  });
  const last = held.findLast(({ begin }) => begin < to);
  if (last !== undefined && from >= last.begin) return last.epoch;
  if (held.length === 0) throw refused("the log has no movements yet");
  if (last === undefined || last === held[0]) {
    throw refused(`the log begins later than --from: it holds movements ${ranges[0]}`);
  }
  throw refused(`the network was reset within the range: ask for one of ${ranges.join(", ")}`);
}

/** Only the contract shows whether it is older than the log, so the gateway's last comparison of the escrow's money tells. */
async function hasAll(
  { events, sharedState }: Pick<Store, "events" | "sharedState">,
  state: WatcherState,
  epoch: number,
  paymentEscrow: string,
): Promise<boolean> {
  const { forgotten } = await events.bounds();
  const isCut = forgotten > 0 && await events.before(heightOf(epoch, 0)) < forgotten;
  const isGap = state.gaps.some((gap) => gap.epoch === epoch && gap.contractIds.includes(paymentEscrow));
  const compared = epoch === state.epoch ? await lastSolvency(sharedState, paymentEscrow) : undefined;
  return !isCut && !isGap && compared?.unknownBecause !== "begins_later";
}

function refused(message: string): GatewayError {
  return new GatewayError("invalid_request", message);
}

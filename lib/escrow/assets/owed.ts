import { setImmediate as yieldToOthers } from "node:timers/promises";
import { heightOf, heightOfEvent, type LoggedEvent } from "../../store/event.ts";
import type { EventStore } from "../../store/store.ts";
import { newestLedgerFirst } from "./escrow_log.ts";
import { afterMovement, ESCROW_MOVEMENTS, type Holdings, UNKNOWN_ASSET } from "./holdings.ts";

/**
 * The amounts that the escrow owes in one epoch, by the log: put in for cards and not paid out yet. A payment counts as
 * pending until a claim of its merchant pays it, so an expired one stays owed. The store keeps this as JSON.
 */
export interface Owed {
  epoch: number;
  /** The events up to this sequence are counted. */
  sequence: number;
  /** The newest ledger of these events. */
  ledger: number;
  /** Retention deleted events before they counted. */
  isCut: boolean;
  /** Decimal strings by asset. `UNKNOWN_ASSET` has the movements whose asset the log does not know. */
  amounts: Record<string, string>;
}

export const MOVEMENTS = [...ESCROW_MOVEMENTS, "payment.claimed"];
/** The first ones of the log. The store limits the size of a shared value. */
export const MOST_ASSETS = 50;
const PAGE = 500;
/** The gateway reads so many earlier movements of a card or merchant. With more of them, a payout counts in its own asset. */
const MOST_EARLIER = 200;

type Log = Pick<EventStore, "bounds" | "before" | "read">;

/** Nothing is owed before the first event of an epoch. */
export async function nothingOwed(log: Log, epoch: number): Promise<Owed> {
  const sequence = await log.before(heightOf(epoch, 0));
  const { forgotten } = await log.bounds();
  return { epoch, sequence, ledger: 0, isCut: forgotten > 0 && sequence <= forgotten, amounts: {} };
}

/** Counts the next page of events up to this ledger. `isAll`: there are no more. */
export async function owedAfter(
  log: Log,
  paymentEscrow: string,
  before: Owed,
  upToLedger: number,
): Promise<{ owed: Owed; isAll: boolean }> {
  const { epoch, sequence, ledger } = before;
  const filter = { types: MOVEMENTS, fromHeight: heightOf(epoch, 0) };
  const { last, forgotten } = await log.bounds();
  const page = await log.read({ filter, after: sequence, order: "asc", limit: PAGE });
  const end = page.findIndex((event) => heightOfEvent(event) > heightOf(epoch, upToLedger));
  const events = page.slice(0, end === -1 ? undefined : end);
  const amounts = new Map(Object.entries(before.amounts).map(([asset, amount]) => [asset, BigInt(amount)]));
  for (const event of events.filter(({ contractId }) => contractId === paymentEscrow)) {
    for (const [asset, change] of await changesOf(log, event, amounts)) {
      const known = amounts.get(asset);
      if (known !== undefined || amounts.size < MOST_ASSETS) amounts.set(asset, (known ?? 0n) + change);
    }
  }
  const next = end === -1 ? undefined : page[end];
  const read = page.length < PAGE ? last : 0;
  const owed: Owed = {
    epoch,
    // Retention may delete the counted events, so the sequence passes other events too.
    sequence: next === undefined ? Math.max(sequence, read, events.at(-1)?.sequence ?? 0) : next.sequence - 1,
    ledger: Math.max(ledger, ...events.map((event) => event.ledger)),
    isCut: before.isCut || sequence < forgotten,
    amounts: Object.fromEntries([...amounts].map(([asset, amount]) => [asset, `${amount}`])),
  };
  return { owed, isAll: next !== undefined || page.length < PAGE };
}

/** How an event changes the amounts. A payout in another asset than the card or merchant has reduces the latter. */
async function changesOf(
  log: Pick<EventStore, "read">,
  event: LoggedEvent,
  amounts: ReadonlyMap<string, bigint>,
): Promise<[asset: string, change: bigint][]> {
  const { type, asset = UNKNOWN_ASSET } = event;
  const amount = BigInt(event.amount ?? "0");
  if (type === "escrow.funded") return [[asset, amount]];
  const isOnly = [...amounts.keys()].every((one) => one === asset);
  const had: Holdings = isOnly ? new Map() : await hadBefore(log, event);
  const { holdings: left } = afterMovement(had, { ...event, type: "escrow.defunded" });
  const taken = [...had].map(([one, before]) => [one, (left.get(one) ?? 0n) - before] as [string, bigint]);
  const ofOthers = taken.reduce((sum, [, change]) => sum + change, 0n);
  // The rest, of which the log shows no origin, counts in the event's own asset.
  const changes: [string, bigint][] = [...taken, [asset, -amount - ofOthers]];
  if (type === "payment.authorized") changes.push([asset, amount]);
  return changes.filter(([, change]) => change !== 0n);
}

/** The holdings of the card's escrow before this event, or the payments that a claim could pay. Empty while unknown. */
async function hadBefore(log: Pick<EventStore, "read">, event: LoggedEvent): Promise<Holdings> {
  const isClaim = event.type === "payment.claimed";
  const height = heightOfEvent(event);
  const filter = {
    ...(isClaim
      ? { types: ["payment.authorized", "payment.claimed"], merchant: event.merchant }
      : { types: ESCROW_MOVEMENTS, deviceHash: event.deviceHash }),
    fromHeight: height - event.ledger,
    toHeight: height,
  };
  const found = await log.read({ filter, order: "desc", limit: MOST_EARLIER });
  await yieldToOthers();
  const isEarlier = (one: LoggedEvent) => one.id !== event.id && newestLedgerFirst(event, one) < 0;
  const earlier = found.filter((one) => one.contractId === event.contractId && isEarlier(one)).sort(newestLedgerFirst);
  const claimed = earlier.findIndex(({ type }) => type === "payment.claimed");
  if (claimed === -1 && found.length === MOST_EARLIER) return new Map();
  const since = earlier.slice(0, claimed === -1 ? undefined : claimed);
  return since.reduceRight<Holdings>((holdings, one) => {
    return afterMovement(holdings, isClaim ? { ...one, type: "escrow.funded" } : one).holdings;
  }, new Map());
}

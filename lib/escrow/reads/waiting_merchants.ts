import { setImmediate as yieldToOthers } from "node:timers/promises";
import { createRecentMap } from "../../bounded_map.ts";
import { heightOf, heightOfEvent, type LoggedEvent } from "../../store/event.ts";
import type { EventQuery, EventStore } from "../../store/store.ts";

/** The store's log. Sequences ascend with heights, except those of late events. */
export type PaymentLog = Pick<EventStore, "watcherState" | "bounds" | "before" | "read">;

/** Finds merchants with an old payment that, by the log, they have not claimed. */
export interface WaitingMerchants {
  /**
   * Reads the payments up to the ledger `upTo` that it has not read yet. After a start it begins at `from`, or earlier when
   * there are few events. Calls `found` with each merchant of an unclaimed payment, the longest waiting first. False when
   * one call cannot read them all; the next call continues.
   */
  follow(ledgers: { from: number; upTo: number }, found: (merchant: string) => void): Promise<boolean>;
}

/** The events that one call reads, in about a tenth of a second. */
const MOST_EVENTS = 10_000;
const PAGE = 1_000;
/** After a start this many events are read at any age, because a payment's life may have been extended. */
const FEW_EVENTS = 50_000;
const KNOWN_CLAIMS = 10_000;
const CLAIMS_PAGE = 100;

/**
 * Follows the log a fixed age behind its end, so that it reads each payment once, however many payments come meanwhile. A
 * claim collects all pending payments. After a later claim an earlier payment is collected, or it had expired before.
 */
export function createWaitingMerchants({ events, paymentEscrow, isWaiting }: {
  events: PaymentLog;
  /** A claim at a former contract collects no payment of this one. */
  paymentEscrow: string;
  /** Whether this merchant was found before and still waits. */
  isWaiting(merchant: string): boolean;
}): WaitingMerchants {
  /** The newest known claim of each merchant. */
  const claims = createRecentMap<number>(KNOWN_CLAIMS);
  /** The sequence up to which all payments are read. */
  let cursor = 0;

  async function unclaimed(merchant: string, height: number): Promise<boolean> {
    if ((claims.get(merchant) ?? -Infinity) > height) return false;
    const claim = await claimedSince(merchant, height);
    if (claim !== undefined) claims.set(merchant, claim);
    return claim === undefined;
  }

  /** The height of a claim of this merchant above that height, undefined when it made none. */
  async function claimedSince(merchant: string, height: number): Promise<number | undefined> {
    const filter = { types: ["payment.claimed"], merchant, fromHeight: height + 1 };
    let upTo: number | undefined;
    // Usually the first event is enough.
    for (let limit = 1;; limit = CLAIMS_PAGE) {
      const found = await events.read({ filter, upTo, order: "desc", limit });
      const claim = found.find(({ contractId }) => contractId === paymentEscrow);
      if (claim !== undefined || found.length < limit) return claim && heightOfEvent(claim);
      upTo = found.at(-1)!.sequence - 1;
    }
  }

  const authorized = (query: Omit<EventQuery, "filter">, toHeight?: number): Promise<LoggedEvent[]> =>
    events.read({ ...query, filter: { types: ["payment.authorized"], toHeight }, order: "asc", limit: PAGE });

  async function take(payments: LoggedEvent[], found: (merchant: string) => void): Promise<void> {
    // A store that answers at once would keep the thread busy, so other work gets a turn after each page.
    await yieldToOthers();
    const newest = new Map<string, number>();
    for (const payment of payments) {
      const [merchant, height] = [payment.merchant!, heightOfEvent(payment)];
      if (!isWaiting(merchant)) newest.set(merchant, Math.max(height, newest.get(merchant) ?? 0));
    }
    const merchants = [...newest];
    const isUnclaimed = await Promise.all(merchants.map(([merchant, height]) => unclaimed(merchant, height)));
    merchants.forEach(([merchant], at) => isUnclaimed[at] && found(merchant));
  }

  /** The sequence to begin at after a start, or after a pause so long that the payments between have expired. */
  async function beginning(epoch: number, from: number): Promise<number> {
    const ofThisNetwork = await events.before(heightOf(epoch, 0));
    const ofAge = await events.before(heightOf(epoch, from));
    const { last } = await events.bounds();
    return Math.max(ofThisNetwork, Math.min(ofAge, last - FEW_EVENTS));
  }

  return {
    async follow({ from, upTo }, found) {
      const { epoch = 0 } = await events.watcherState() ?? {};
      const height = heightOf(epoch, upTo);
      const end = await events.before(height + 1);
      cursor = Math.max(cursor, await beginning(epoch, from));
      let left = MOST_EVENTS;
      for (; cursor < end && left > 0; left -= PAGE) {
        const payments = await authorized({ after: cursor, upTo: end });
        await take(payments, found);
        cursor = payments.length < PAGE ? end : payments.at(-1)!.sequence;
      }
      // Late events are further on. Each call reads them until the cursor has passed them.
      let after = Math.max(cursor, end);
      for (; left > 0; left -= PAGE) {
        const late = await authorized({ after }, height);
        await take(late, found);
        if (late.length < PAGE) return cursor >= end;
        after = late.at(-1)!.sequence;
      }
      return false;
    },
  };
}

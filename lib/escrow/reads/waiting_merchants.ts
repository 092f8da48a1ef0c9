import { setImmediate as yieldToOthers } from "node:timers/promises";
import { createRecentMap } from "../../bounded_map.ts";

/** An authorised payment in the log. */
export interface LoggedPayment {
  merchant: string;
  /** The ledger of its authorisation, as a number that ascends over all epochs. */
  height: number;
  /** Its place in the log. */
  sequence: number;
}

/** The log's payments. Sequences ascend with heights, except those of late events. */
export interface PaymentLog {
  /** The height of a ledger of the current epoch. */
  heightOf(ledger: number): Promise<number>;
  /** The sequence of the newest event. */
  last(): Promise<number>;
  /** The highest sequence before all events of this height or above. */
  before(height: number): Promise<number>;
  /** Ascending by sequence, `after` exclusive; `upTo` inclusive. */
  authorized(query: { after: number; upTo?: number; toHeight?: number; limit: number }): Promise<LoggedPayment[]>;
  /** The height of a claim of this merchant above that height, undefined when it made none. */
  claimedSince(merchant: string, height: number): Promise<number | undefined>;
}

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

/**
 * Follows the log a fixed age behind its end, so that it reads each payment once, however many payments come meanwhile. A
 * claim collects all pending payments, so a later claim has collected an earlier payment.
 */
export function createWaitingMerchants({ log, isWaiting }: {
  log: PaymentLog;
  /** Whether this merchant was found before and still waits. */
  isWaiting(merchant: string): boolean;
}): WaitingMerchants {
  /** The newest known claim of each merchant. */
  const claims = createRecentMap<number>(KNOWN_CLAIMS);
  /** The sequence up to which all payments are read. */
  let cursor = 0;

  async function unclaimed(merchant: string, height: number): Promise<boolean> {
    if ((claims.get(merchant) ?? -Infinity) > height) return false;
    const claim = await log.claimedSince(merchant, height);
    if (claim !== undefined) claims.set(merchant, claim);
    return claim === undefined;
  }

  async function take(payments: LoggedPayment[], found: (merchant: string) => void): Promise<void> {
    // A store that answers at once would keep the thread busy, so other work gets a turn after each page.
    await yieldToOthers();
    const newest = new Map<string, number>();
    for (const { merchant, height } of payments) {
      if (!isWaiting(merchant)) newest.set(merchant, Math.max(height, newest.get(merchant) ?? 0));
    }
    const merchants = [...newest];
    const isUnclaimed = await Promise.all(merchants.map(([merchant, height]) => unclaimed(merchant, height)));
    merchants.forEach(([merchant], at) => isUnclaimed[at] && found(merchant));
  }

  /** The sequence to begin at after a start, or after a pause so long that the payments between have expired. */
  async function beginning(from: number): Promise<number> {
    const [ofThisNetwork, ofAge] = [
      await log.before(await log.heightOf(0)),
      await log.before(await log.heightOf(from)),
    ];
    return Math.max(ofThisNetwork, Math.min(ofAge, await log.last() - FEW_EVENTS));
  }

  return {
    async follow({ from, upTo }, found) {
      const height = await log.heightOf(upTo);
      const end = await log.before(height + 1);
      cursor = Math.max(cursor, await beginning(from));
      let left = MOST_EVENTS;
      for (; cursor < end && left > 0; left -= PAGE) {
        const payments = await log.authorized({ after: cursor, upTo: end, limit: PAGE });
        await take(payments, found);
        cursor = payments.length < PAGE ? end : payments.at(-1)!.sequence;
      }
      // Late events are further on. Each call reads them until the cursor has passed them.
      let after = Math.max(cursor, end);
      for (; left > 0; left -= PAGE) {
        const late = await log.authorized({ after, toHeight: height, limit: PAGE });
        await take(late, found);
        if (late.length < PAGE) return cursor >= end;
        after = late.at(-1)!.sequence;
      }
      return false;
    },
  };
}

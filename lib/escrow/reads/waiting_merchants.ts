import { setImmediate as yieldToOthers } from "node:timers/promises";
import { createRecentMap } from "../../bounded_map.ts";

/** An authorised payment, as the log has it. */
export interface LoggedPayment {
  merchant: string;
  /** Where in the network's course it was authorised: compares over all its ledgers. */
  height: number;
  /** Its place in the log. */
  sequence: number;
}

/** The log's payments. Sequences ascend with heights, but for those of events that became known late. */
export interface PaymentLog {
  /** The height of a ledger of the network as it is now. */
  heightOf(ledger: number): Promise<number>;
  /** The sequence of the newest event. */
  last(): Promise<number>;
  /** The highest sequence such that all events of this height or above come after it. */
  before(height: number): Promise<number>;
  /** Ascending by sequence, `after` exclusive; `upTo` inclusive. */
  authorized(query: { after: number; upTo?: number; toHeight?: number; limit: number }): Promise<LoggedPayment[]>;
  /** The height of a claim of this merchant above that height, undefined when it made none. */
  claimedSince(merchant: string, height: number): Promise<number | undefined>;
}

/** The merchants that have had a payment for long and, by the log, have not claimed it. */
export interface WaitingMerchants {
  /**
   * Takes in payments that have reached the age: up to the ledger `upTo`, and after a start from `from` on. Older ones
   * follow while there are few. Calls `found` with each merchant of one that was not claimed since, the longest waiting
   * first. False while there are more than one call reads: the next goes on.
   */
  follow(ledgers: { from: number; upTo: number }, found: (merchant: string) => void): Promise<boolean>;
}

/** How much one call reads: a tenth of a second's work. */
const MOST_EVENTS = 10_000;
const PAGE = 1_000;
/** After a start so many events are gone through whatever their age: somebody may have had a payment's life lengthened. */
const FEW_EVENTS = 50_000;
const KNOWN_CLAIMS = 10_000;

/**
 * Follows the log one payment's age behind its end. It looks at each payment once, at a cost that does not grow with
 * later payments. A claim collects all that is pending: one above a payment has collected it.
 */
export function createWaitingMerchants({ log, isWaiting }: {
  log: PaymentLog;
  /** Whether this merchant was found and is not done with. */
  isWaiting(merchant: string): boolean;
}): WaitingMerchants {
  /** A claim of each merchant, the newest that is known. */
  const claims = createRecentMap<number>(KNOWN_CLAIMS);
  /** All payments up to this sequence have been looked at. */
  let cursor = 0;

  async function unclaimed(merchant: string, height: number): Promise<boolean> {
    if ((claims.get(merchant) ?? -Infinity) > height) return false;
    const claim = await log.claimedSince(merchant, height);
    if (claim !== undefined) claims.set(merchant, claim);
    return claim === undefined;
  }

  async function take(payments: LoggedPayment[], found: (merchant: string) => void): Promise<void> {
    // A page is enough for one turn with a store that answers at once.
    await yieldToOthers();
    const newest = new Map<string, number>();
    for (const { merchant, height } of payments) {
      if (!isWaiting(merchant)) newest.set(merchant, Math.max(height, newest.get(merchant) ?? 0));
    }
    const merchants = [...newest];
    const isUnclaimed = await Promise.all(merchants.map(([merchant, height]) => unclaimed(merchant, height)));
    merchants.forEach(([merchant], at) => isUnclaimed[at] && found(merchant));
  }

  /** Where to begin after a start, or after such a rest that what lies between has expired. */
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
      // Late events stand further on in the log. Each round reads them until the cursor has passed them.
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

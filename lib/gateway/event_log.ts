import type { EventLog } from "../escrow/assets/escrow_log.ts";
import type { LoggedPayment, PaymentLog } from "../escrow/reads/waiting_merchants.ts";
import { heightOf, heightOfEvent } from "../store/event.ts";
import type { Store } from "../store/store.ts";

/* The store's log, as those of `lib/escrow` ask it who know no store. */

/**
 * As what the assets in an escrow are learnt from: complete from where the last gap of this contract ends, and without what a
 * store that is older has of a former one.
 */
export function eventLogOf(
  { events }: Pick<Store, "events">,
  paymentEscrow: string,
  catchUp: () => Promise<unknown>,
): EventLog {
  return {
    async reach() {
      const state = await events.watcherState();
      if (state === undefined) return undefined;
      const { epoch, gaps, scannedLedger } = state;
      const ends = gaps
        .filter((gap) => gap.epoch === epoch && gap.contractIds.includes(paymentEscrow))
        .map(({ toLedger }) => toLedger + 1);
      return { scannedLedger, completeFromHeight: heightOf(epoch, Math.max(0, ...ends)) };
    },
    read: async (query) => (await events.read(query)).filter(({ contractId }) => contractId === paymentEscrow),
    catchUp,
  };
}

/** Claims that are gone through at a time. */
const PAGE = 100;

/** Its payments, as they are followed until they are claimed or about to expire. */
export function paymentLogOf({ events }: Pick<Store, "events">, paymentEscrow: string): PaymentLog {
  return {
    heightOf: async (ledger) => heightOf((await events.watcherState())?.epoch ?? 0, ledger),
    last: async () => (await events.bounds()).last,
    before: (height) => events.before(height),
    async authorized({ after, upTo, toHeight, limit }) {
      const filter = { types: ["payment.authorized"], toHeight };
      const found = await events.read({ filter, after, upTo, order: "asc", limit });
      return found.map((event): LoggedPayment => ({
        // `decodeEvent` makes none without.
        merchant: event.merchant!,
        height: heightOfEvent(event),
        sequence: event.sequence,
      }));
    },
    async claimedSince(merchant, height) {
      const filter = { types: ["payment.claimed"], merchant, fromHeight: height + 1 };
      let upTo: number | undefined;
      // Mostly the first one says it.
      for (let limit = 1;; limit = PAGE) {
        const found = await events.read({ filter, upTo, order: "desc", limit });
        // One at a former contract has collected nothing of this one's.
        const claim = found.find(({ contractId }) => contractId === paymentEscrow);
        if (claim !== undefined || found.length < limit) return claim && heightOfEvent(claim);
        upTo = found.at(-1)!.sequence - 1;
      }
    },
  };
}

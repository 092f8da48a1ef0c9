import type { EventLog } from "../escrow/assets/escrow_log.ts";
import type { LoggedPayment, PaymentLog } from "../escrow/reads/waiting_merchants.ts";
import { heightOf, heightOfEvent } from "../store/event.ts";
import type { Store } from "../store/store.ts";

/* The store's event log through the interfaces of `lib/escrow`, which knows no store. */

/**
 * The events of this escrow contract, from which the assets in an escrow are known. They are complete after the contract's last
 * gap. Events of a former contract in the store are left out.
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

/** Claims in one read of the store. */
const PAGE = 100;

/** The payments of this escrow contract, until they are claimed or about to expire. */
export function paymentLogOf({ events }: Pick<Store, "events">, paymentEscrow: string): PaymentLog {
  return {
    heightOf: async (ledger) => heightOf((await events.watcherState())?.epoch ?? 0, ledger),
    last: async () => (await events.bounds()).last,
    before: (height) => events.before(height),
    async authorized({ after, upTo, toHeight, limit }) {
      const filter = { types: ["payment.authorized"], toHeight };
      const found = await events.read({ filter, after, upTo, order: "asc", limit });
      return found.map((event): LoggedPayment => ({
        // `decodeEvent` always sets it for this type.
        merchant: event.merchant!,
        height: heightOfEvent(event),
        sequence: event.sequence,
      }));
    },
    async claimedSince(merchant, height) {
      const filter = { types: ["payment.claimed"], merchant, fromHeight: height + 1 };
      let upTo: number | undefined;
      // Usually the first event is enough.
      for (let limit = 1;; limit = PAGE) {
        const found = await events.read({ filter, upTo, order: "desc", limit });
        // A claim at a former contract collects no payment of this one.
        const claim = found.find(({ contractId }) => contractId === paymentEscrow);
        if (claim !== undefined || found.length < limit) return claim && heightOfEvent(claim);
        upTo = found.at(-1)!.sequence - 1;
      }
    },
  };
}

import type { LoggedPayment, PaymentLog } from "../escrow/reads/waiting_merchants.ts";
import { heightOf, heightOfEvent } from "../store/event.ts";
import type { EventStore } from "../store/store.ts";

/** The payments of the store's log. */
export function createPaymentLog(
  events: Pick<EventStore, "read" | "before" | "bounds" | "watcherState">,
): PaymentLog {
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
      const [claim] = await events.read({ filter, order: "desc", limit: 1 });
      return claim && heightOfEvent(claim);
    },
  };
}

import type { EventLog } from "../escrow/assets/escrow_log.ts";
import { heightOf } from "../store/event.ts";
import type { Store } from "../store/store.ts";

/** The store's log, as what the assets in an escrow are learnt from: complete from where the last gap of this contract ends. */
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
    read: (query) => events.read(query),
    catchUp,
  };
}

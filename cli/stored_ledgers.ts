import type { LedgerTimes } from "../lib/stellar/ledger_clock.ts";
import type { Store } from "../lib/store/store.ts";

/** Of a network whose pace the store does not show, in seconds. */
const USUAL_PACE = 5;

/** The newest ledger of the store with its time, and the pace of its ledgers. Undefined while no time is known. */
export async function storedLedgers(
  { events }: Pick<Store, "events">,
): Promise<(LedgerTimes & { ledger: number }) | undefined> {
  const state = await events.watcherState();
  if (state === undefined || state.latestLedgerCloseTime === 0) return undefined;
  const { latestLedger: ledger, latestLedgerCloseTime: seconds, checkpoints: [first] } = state;
  const pace = first === undefined ? NaN : (seconds - first.closeTime) / (ledger - first.ledger);
  return { ledger, seconds, pace: pace > 0 && pace < Infinity ? pace : USUAL_PACE };
}

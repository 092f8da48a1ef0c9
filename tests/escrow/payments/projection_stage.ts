import type { PaymentEntries } from "../../../lib/escrow/payments/payment_entries.ts";
import { createPaymentsProjection } from "../../../lib/escrow/payments/projection.ts";
import { formatEventId, type NewEvent } from "../../../lib/store/event.ts";
import type { StoredPayment } from "../../../lib/store/payment.ts";
import type { HistoryGap, Store, WatcherState } from "../../../lib/store/store.ts";
import { CONTRACT, sampleState, watcherLease } from "../../store/samples.ts";

export const LIFE = 12;
export const START = 1_793_491_200;
export const CARD = "ab".repeat(32);

/** A projection as the leader runs it. */
export function leaderOf(
  store: Store,
  readEntries: PaymentEntries = () => Promise.resolve(new Map()),
  ledger = () => 1_000,
  paymentEscrow = CONTRACT,
) {
  const projection = createPaymentsProjection({
    store,
    paymentEscrow,
    shortestLife: () => Promise.resolve(LIFE),
    readEntries,
    head: () => ({ sequence: ledger(), closeTime: ledger() }),
  });
  return {
    projection,
    follow: async () => await projection.follow(await watcherLease(store)),
    read: async () => await projection.read(await watcherLease(store)),
    owed: async () => await projection.owedEvents(await watcherLease(store)),
  };
}

export const stateAt = (scannedLedger: number, settledLedger: number, more: Partial<WatcherState> = {}) =>
  sampleState(scannedLedger, {
    settledLedger,
    contracts: { [CONTRACT]: { fromLedger: 1, toLedger: null } },
    ...more,
  });

export const gap = (fromLedger: number, toLedger: number): HistoryGap => {
  return {
    epoch: 0,
    fromLedger,
    toLedger,
    contractIds: [CONTRACT],
    detectedAt: "2026-11-01T00:00:00Z",
    reason: "pruned",
  };
};

export async function append(store: Store, events: NewEvent[], state: WatcherState): Promise<void> {
  const lease = await watcherLease(store);
  for (let at = 0; at === 0 || at < events.length; at += 100) {
    await store.events.append({ lease, events: events.slice(at, at + 100), state });
  }
}

export const rowsOf = (store: Store): Promise<StoredPayment[]> =>
  store.payments.list({ filter: {}, order: "asc", limit: 1_000 });

export const payment = (ledger: number, slot: number): NewEvent => ({
  id: formatEventId({ epoch: 0, ledger, order: 4_096, index: 0 }),
  ...{ type: "payment.authorized", contractId: CONTRACT, ledger, txHash: "t", deviceHash: CARD, merchant: "M" },
  ...{ ledgerClosedAt: new Date(ledger * 5_000).toISOString().replace(".000", ""), amount: "5", knownAt: START },
  payment: { slot, endLedger: ledger + LIFE - 1, agent: "A" },
});

/** A claim of `payment`'s merchant, without metadata. */
export const claim = (ledger: number): NewEvent => ({
  ...payment(ledger, 1),
  type: "payment.claimed",
  deviceHash: undefined,
  txHash: "u",
  payment: undefined,
});

import { parseEventId } from "../../store/event.ts";
import type { PaymentPlace, PaymentStore, StoredPayment } from "../../store/payment.ts";

export interface OpenPaymentsQuery {
  paymentEscrow: string;
  epoch: number;
  /** As of this ledger, up to which the payments hold. */
  ledger: number;
}

const PAGE = 500;

/** The payments of a merchant that no claim had taken in a ledger. */
export async function openPayments(
  payments: Pick<PaymentStore, "list">,
  merchant: string,
  { paymentEscrow, epoch, ledger }: OpenPaymentsQuery,
): Promise<StoredPayment[]> {
  // By id: a claim may take a payment between two reads.
  const found = new Map<string, StoredPayment>();
  const isOwn = (one: StoredPayment) => one.contractId === paymentEscrow && parseEventId(one.id)!.epoch === epoch;
  async function* of(state: StoredPayment["state"]) {
    let after: PaymentPlace | undefined;
    while (true) {
      const page = await payments.list({ filter: { merchant, state }, order: "desc", after, limit: PAGE });
      yield* page.filter(isOwn);
      if (page.length < PAGE) return;
      after = page.at(-1)!;
    }
  }
  for (const state of ["pending", "unknown"] as const) {
    for await (const one of of(state)) if (one.ledger <= ledger) found.set(one.id, one);
  }
  for await (const one of of("claimed")) {
    // A claim takes all earlier payments, so those before were not open either.
    if (one.claim!.ledger <= ledger) break;
    if (one.ledger <= ledger) found.set(one.id, one);
  }
  return [...found.values()];
}

import { matchesPayment, type PaymentFilter, type StoredPayment } from "../../store/payment.ts";
import type { Store } from "../../store/store.ts";
import { type Order, placeCursor, readPlaceCursor } from "../place_cursor.ts";

export interface ReferencedPayments {
  /** The API key that gave the reference. */
  keyId: string;
  reference: string;
  filter: PaymentFilter;
  order?: Order;
  cursor?: string;
  /** The most transactions to look at. */
  limit: number;
}

/** Reads at the same time. */
const AT_ONCE = 50;
const PLACE = /^reference (\d{1,15}) ([0-9a-f]{64})$/;

/**
 * The payments of the transactions that a key prepared with a reference, in the order of the prepares. A page looks at `limit`
 * transactions, so it may have fewer payments. Two reads for each transaction, both by index.
 */
export async function paymentsOfReference(
  { references, events, payments }: Pick<Store, "references" | "events" | "payments">,
  { keyId, reference, filter, cursor, limit, ...query }: ReferencedPayments,
): Promise<{ rows: StoredPayment[]; cursor: string | null }> {
  const { order, place } = readPlaceCursor(cursor, query.order, PLACE);
  const after = place && { preparedAtMs: Number(place[0]), hash: place[1]! };
  const given = await references.ofReference({ keyId, reference, order, after, limit });

  async function paymentOf(txHash: string): Promise<StoredPayment | undefined> {
    const ofPayment = { txHash, types: ["payment.authorized"] };
    const [event] = await events.read({ filter: ofPayment, order: "asc", limit: 1 });
    return event && await payments.get(event.id);
  }

  const found: (StoredPayment | undefined)[] = [];
  for (let at = 0; at < given.length; at += AT_ONCE) {
    found.push(...await Promise.all(given.slice(at, at + AT_ONCE).map(({ hash }) => paymentOf(hash))));
  }
  const last = given.at(-1);
  return {
    rows: found.filter((one) => one !== undefined && matchesPayment(filter, one)) as StoredPayment[],
    cursor: given.length < limit ? null : placeCursor(order, "reference", last!.preparedAtMs, last!.hash),
  };
}

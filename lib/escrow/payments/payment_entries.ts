import type { EntryReader } from "../../stellar/entries.ts";
import type { StoredPayment } from "../../store/payment.ts";
import { asPayment, entryValue, type Payment } from "../decode.ts";
import type { EntrySource } from "../reads/reads_by_entries.ts";
import { pendingPaymentKey } from "../reads/storage_keys.ts";

/** The entry of a payment as of one ledger. */
export interface ReadEntry {
  ledger: number;
  /** The last ledger of its life. Absent: there is no entry. */
  endLedger?: number;
}

/** Reads entries of payments by their ids. @throws {GatewayError} `upstream_error` when the node fails */
export type PaymentEntries = (payments: StoredPayment[]) => Promise<Map<string, ReadEntry>>;

/** The protocol's limit for one `getLedgerEntries`. */
const KEYS_PER_CALL = 200;
/** Without a slot a payment needs two calls for its merchant. */
const MERCHANTS_AT_ONCE = 20;

/** Reads the entries of payments: 200 in one call where their slots are known. */
export function createPaymentEntries({ entries, pending, paymentEscrow }: {
  entries: EntryReader;
  pending: EntrySource["pending"];
  paymentEscrow: string;
}): PaymentEntries {
  return async function read(payments) {
    const found = new Map<string, ReadEntry>();
    const placed = payments.filter(({ slot }) => slot !== undefined);
    for (let at = 0; at < placed.length; at += KEYS_PER_CALL) {
      const some = placed.slice(at, at + KEYS_PER_CALL);
      const keys = some.map(({ merchant, slot }) => pendingPaymentKey(paymentEscrow, merchant, slot!));
      const answer = await entries.read(keys, { fresh: true });
      some.forEach((payment, index) => {
        const entry = answer.entries[index];
        const isOwn = entry !== undefined && isEntryOf(payment, entryValue(entry.xdr, asPayment));
        const endLedger = isOwn ? living(entry.liveUntilLedgerSeq, answer.ledger) : undefined;
        found.set(payment.id, { ledger: answer.ledger, endLedger });
      });
    }
    const others = Map.groupBy(payments.filter(({ slot }) => slot === undefined), ({ merchant }) => merchant);
    for (const [merchant, own] of [...others].slice(0, MERCHANTS_AT_ONCE)) {
      const { ledger, value: { payments: living = [] } } = await pending(merchant);
      for (const payment of own) {
        const entry = living.find((one) => isEntryOf(payment, one));
        found.set(payment.id, { ledger, endLedger: entry?.liveUntilLedger });
      }
    }
    return found;
  };
}

/** The contract uses slots again, so the entry of a payment has its card, amount and time. */
function isEntryOf({ deviceHash, amount, authorizedAt }: StoredPayment, entry: Payment): boolean {
  return entry.deviceHash === deviceHash && `${entry.amount}` === amount && Number(entry.timestamp) === authorizedAt;
}

/** A node may list an entry that has ended. */
function living(liveUntilLedger: number | undefined, ledger: number): number | undefined {
  return liveUntilLedger !== undefined && liveUntilLedger >= ledger ? liveUntilLedger : undefined;
}

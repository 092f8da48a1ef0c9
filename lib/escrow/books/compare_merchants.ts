import type { EntryReader } from "../../stellar/entries.ts";
import type { RawLedgerEntry } from "../../stellar/rpc/schemas.ts";
import type { PaymentStore, StoredPayment } from "../../store/payment.ts";
import { asPayment, asU32, type Decode, entryValue, type Payment } from "../decode.ts";
import type { EntrySource } from "../reads/reads_by_entries.ts";
import { pendingIndexKey, pendingPaymentKey } from "../reads/storage_keys.ts";
import { type Difference, merchantDifference } from "./differences.ts";
import type { FollowedLog } from "./followed_log.ts";
import { openPayments } from "./open_payments.ts";

/** The protocol's limit for one `getLedgerEntries`. */
export const KEYS_PER_CALL = 200;

/** The keys of a merchant's count and of the entries of its open payments. */
interface MerchantKeys {
  merchant: string;
  keys: string[];
}

/** The entries of these keys. */
interface MerchantEntries extends MerchantKeys {
  ledger: number;
  count: number;
  slots: (RawLedgerEntry | undefined)[];
}

/** Compares merchants: one key each and one for each open payment, 200 in a call. */
export function createMerchantComparison({ payments, paymentEscrow, entries, pending, log }: {
  payments: Pick<PaymentStore, "list">;
  paymentEscrow: string;
  entries: Pick<EntryReader, "read">;
  pending: EntrySource["pending"];
  log: FollowedLog;
}) {
  const openOf = (merchant: string, ledger: number) =>
    openPayments(payments, merchant, { paymentEscrow, epoch: log.epoch, ledger });
  const slotKey = ({ merchant, slot }: StoredPayment) =>
    slot === undefined ? undefined : pendingPaymentKey(paymentEscrow, merchant, slot);

  /** Merchants, as many as fit into a call. */
  async function* pagesOf(merchants: readonly string[]): AsyncGenerator<MerchantKeys[]> {
    let page: MerchantKeys[] = [];
    let count = 0;
    for (const merchant of merchants) {
      const open = await openOf(merchant, Infinity);
      const slots = new Set(open.map(slotKey).filter((key) => key !== undefined));
      // A merchant with more is read apart.
      const keys = [pendingIndexKey(paymentEscrow, merchant), ...slots.size < KEYS_PER_CALL ? slots : []];
      if (count + keys.length > KEYS_PER_CALL) {
        yield page;
        [page, count] = [[], 0];
      }
      page.push({ merchant, keys });
      count += keys.length;
    }
    if (page.length > 0) yield page;
  }

  async function compareOne({ merchant, ledger, count, keys, slots }: MerchantEntries, isComplete: boolean) {
    const open = await openOf(merchant, ledger);
    const isRead = (payment: StoredPayment) => keys.includes(slotKey(payment) ?? "");
    if (count === log.balances.merchants.get(merchant)!.count && open.every(isRead)) {
      const isLiving = (entry: RawLedgerEntry | undefined) => (entry?.liveUntilLedgerSeq ?? Infinity) >= ledger;
      const living = slots.filter(isLiving).flatMap((entry) => valueOf(entry, asPayment) ?? []);
      return merchantDifference(merchant, { open, entries: living, ledger, isComplete });
    }
    // The log does not know all entries, or not their slots.
    const all = await log.answered(() => pending(merchant));
    return merchantDifference(merchant, {
      open: await openOf(merchant, all.ledger),
      entries: all.value.payments as Payment[],
      ledger: all.ledger,
      isComplete,
    });
  }

  return async function compare(merchants: readonly string[], isComplete: boolean): Promise<Difference[]> {
    const found: Difference[] = [];
    for await (const page of pagesOf(merchants)) {
      const answer = await log.answered(() => entries.read(page.flatMap(({ keys }) => keys)));
      let at = 0;
      for (const { merchant, keys } of page) {
        const [index, ...slots] = answer.entries.slice(at, at += keys.length);
        const read = { merchant, keys, ledger: answer.ledger, count: valueOf(index, asU32) ?? 0, slots };
        const one = await compareOne(read, isComplete);
        if (one !== undefined) found.push(one);
      }
    }
    return found;
  };
}

/** @throws {UnexpectedEntry} */
export function valueOf<T>(entry: RawLedgerEntry | undefined, decode: Decode<T>): T | undefined {
  return entry && entryValue(entry.xdr, decode);
}

import { isoTime } from "../../clock.ts";
import type { Store } from "../../store/store.ts";
import type { SubmittedTransaction, TransactionFilter } from "../../store/transaction.ts";
import { type Order, placeCursor, readPlaceCursor } from "../place_cursor.ts";
import type { OperationKind } from "../contracts/interfaces.ts";

/** A transaction as the client that submitted it sees it. */
export interface PublicTransaction {
  hash: string;
  kind: OperationKind;
  source: string;
  status: SubmittedTransaction["status"];
  ledger: number | null;
  reference: string | null;
  idempotencyKey: string | null;
  /** ISO 8601. */
  submittedAt: string;
}

export interface TransactionPage {
  transactions: PublicTransaction[];
  /** Null on the last page. */
  cursor: string | null;
}

export interface TransactionListQuery {
  /** The calling API key. */
  keyId: string;
  /** `from` and `to` in Unix seconds. */
  filter: Omit<TransactionFilter, "fromMs" | "toMs"> & { from?: number; to?: number };
  order?: Order;
  cursor?: string;
  limit: number;
}

/** Lists what an API key submitted. @throws {GatewayError} `invalid_request` for a cursor of another list */
export type ListTransactions = (query: TransactionListQuery) => Promise<TransactionPage>;

const PLACE = /^(\d{1,15}) ([0-9a-f]{64})$/;

/** Times in Unix seconds as those of a `TransactionFilter`. */
export function inMs({ from, to }: { from?: number; to?: number }): Pick<TransactionFilter, "fromMs" | "toMs"> {
  return { fromMs: from && Math.round(from * 1_000), toMs: to && Math.round(to * 1_000) };
}

export function createTransactionList({ transactions }: Pick<Store, "transactions">): ListTransactions {
  return async function list({ keyId, filter: { from, to, ...filter }, cursor, limit, ...query }) {
    const { order, place } = readPlaceCursor(cursor, query.order, PLACE);
    const after = place && { submittedAtMs: Number(place[0]), hash: place[1]! };
    const rows = await transactions.list({ keyId, filter: { ...filter, ...inMs({ from, to }) }, order, after, limit });
    const last = rows.at(-1);
    return {
      transactions: rows.map(publicTransaction),
      cursor: rows.length < limit ? null : placeCursor(order, last!.submittedAtMs, last!.hash),
    };
  };
}

/** A transaction as the key of its record sees it. */
export function publicTransaction(row: SubmittedTransaction): PublicTransaction {
  const { hash, kind, source, status, ledger = null, reference = null, idempotencyKey = null, submittedAtMs } = row;
  const submittedAt = isoTime(submittedAtMs);
  return { hash, kind: kind as OperationKind, source, status, ledger, reference, idempotencyKey, submittedAt };
}

import type { z } from "zod";
import type { PublicTransaction } from "../../escrow/operations/submitted_transactions.ts";
import type { KeyRecord } from "../../store/store.ts";
import { type ExportedList, exportedPages, type ReadPage, type RowPage } from "../exported_list.ts";
import type { Dependencies } from "../request_context.ts";
import type { transactionsQuery } from "../validation/transaction_query.ts";

/** The columns are named as the fields of a transaction. */
export const TRANSACTION_FILE: ExportedList<PublicTransaction> = {
  name: "transactions",
  columns: ["hash", "kind", "source", "status", "ledger", "reference", "idempotencyKey", "submittedAt"],
  rowOf: (transaction) => ({ ...transaction }),
};

/** The pages of an export: all transactions of the query, or `limit` of them. */
export function exportedTransactions(
  { query, key }: { query: z.infer<typeof transactionsQuery>; key: Pick<KeyRecord, "id"> },
  { transactions, assets }: Pick<Dependencies, "transactions" | "assets">,
): AsyncGenerator<RowPage> {
  const { format: _, order, limit, cursor, ...filter } = query;
  const read: ReadPage<PublicTransaction> = async (page) => {
    const { transactions: items, cursor } = await transactions.list({ keyId: key.id, filter, order, ...page });
    return { items, cursor };
  };
  return exportedPages(TRANSACTION_FILE, read, { assets, cursor, limit });
}

import { createHistory } from "../../lib/events/history.ts";
import { inMs, publicTransaction } from "../../lib/escrow/operations/submitted_transactions.ts";
import { publicPayment } from "../../lib/escrow/payments/payment_reads.ts";
import type { ExportedList, ReadPage } from "../../lib/http/exported_list.ts";
import { EVENT_FILE } from "../../lib/http/routes/event_export.ts";
import { PAYMENT_FILE } from "../../lib/http/routes/payment_export.ts";
import { TRANSACTION_FILE } from "../../lib/http/routes/transaction_export.ts";
import type { Store } from "../../lib/store/store.ts";
import type { StoreNode } from "../store_and_node.ts";
import type { storedLedgers } from "../stored_ledgers.ts";

/** A list of the store, oldest item first. */
interface StoredList {
  // deno-lint-ignore no-explicit-any -- each list reads what its rows need
  file: ExportedList<any>;
  // deno-lint-ignore no-explicit-any
  read: ReadPage<any>;
}

export interface ListParts {
  store: Store;
  node: Pick<StoreNode, "head">;
  /** Unix seconds. */
  times: { from?: number; to?: number };
  /** Dates the ends of payments. */
  ledgers: Awaited<ReturnType<typeof storedLedgers>>;
}

/** The lists that can be exported, by name. */
export const LISTS: Record<"payments" | "transactions" | "events", (parts: ListParts) => StoredList> = {
  payments: ({ store, times, ledgers }) => ({
    file: PAYMENT_FILE,
    async read({ cursor, limit }) {
      const after = cursor === undefined ? undefined : JSON.parse(cursor);
      const rows = await store.payments.list({ filter: times, order: "asc", after, limit });
      const last = rows.at(-1);
      const items = await withReferences(store, rows.map((row) => publicPayment(row, ledgers)));
      const place = () => JSON.stringify({ authorizedAt: last!.authorizedAt, id: last!.id });
      return { items, cursor: rows.length < limit ? null : place() };
    },
  }),
  transactions: ({ store, times }) => ({
    // Each key sees its own. This list is of all, so it names the key.
    file: { ...TRANSACTION_FILE, columns: [...TRANSACTION_FILE.columns, "keyId"] },
    async read({ cursor, limit }) {
      const after = cursor === undefined ? undefined : JSON.parse(cursor);
      const rows = await store.transactions.all({ ...inMs(times), after, limit });
      const last = rows.at(-1);
      const items = rows.map((row) => ({ ...publicTransaction(row), keyId: row.keyId }));
      const place = () => JSON.stringify({ submittedAtMs: last!.submittedAtMs, hash: last!.hash, keyId: last!.keyId });
      return { items, cursor: rows.length < limit ? null : place() };
    },
  }),
  events: ({ store, node, times }) => {
    const history = createHistory({ store, head: node.head });
    return {
      file: EVENT_FILE,
      async read({ cursor, limit }) {
        const page = await history.page({ cursor, order: "asc", times, limit });
        const items = await withReferences(store, page.events);
        return { items, cursor: items.length < limit ? null : page.cursor };
      },
    };
  },
};

/** Adds what the API keys gave, the first one where several did. */
async function withReferences<T extends { txHash: string }>({ references }: Store, items: T[]): Promise<T[]> {
  if (items.length === 0 || !await references.isAny()) return items;
  const given = await references.find([...new Set(items.map(({ txHash }) => txHash))]);
  const byHash = new Map(
    given.toSorted((a, b) => b.preparedAtMs - a.preparedAtMs).map(({ hash, reference }) => [hash, reference]),
  );
  return items.map((item) => byHash.has(item.txHash) ? { ...item, reference: byHash.get(item.txHash) } : item);
}

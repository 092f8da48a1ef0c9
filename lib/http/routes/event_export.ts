import type { z } from "zod";
import { subjectsOf } from "../../events/log_reader.ts";
import type { PublicEvent } from "../../store/event.ts";
import type { KeyRecord } from "../../store/store.ts";
import { type ExportedList, exportedPages, type ReadPage, type RowPage } from "../exported_list.ts";
import type { Dependencies } from "../request_context.ts";
import type { eventsQuery } from "../validation/event_query.ts";

/** The columns are named as the fields of an event. */
export const EVENT_FILE: ExportedList<PublicEvent> = {
  name: "events",
  columns: [
    ...["id", "type", "contractId", "ledger", "ledgerClosedAt", "txHash", "deviceHash", "agent", "merchant"],
    ...["amount", "amountUnits", "asset", "paymentId", "reference"],
  ],
  rowOf(event, inUnits) {
    if (event.amount === undefined) return { ...event };
    const { amount, asset, ...origin } = event;
    return { ...origin, amount, amountUnits: inUnits(amount, asset), asset };
  },
};

/** The pages of an export: all events of the query, or `limit` of them. */
export function exportedEvents(
  { query, key }: { query: z.infer<typeof eventsQuery>; key: Pick<KeyRecord, "id"> },
  { history, assets }: Pick<Dependencies, "history" | "assets">,
): AsyncGenerator<RowPage> {
  const { format: _, fromLedger, toLedger, from, to, cursor, order, limit, ...filter } = query;
  const read: ReadPage<PublicEvent> = async (page) => {
    const start = page.cursor === undefined ? { fromLedger } : { cursor: page.cursor };
    const range = { ...start, toLedger, times: { from, to }, order, limit: page.limit };
    const { events, cursor } = await history.page({ ...range, filter: subjectsOf(filter), keyId: key.id });
    return { items: events, cursor: events.length < page.limit ? null : cursor };
  };
  return exportedPages(EVENT_FILE, read, { assets, cursor, limit });
}

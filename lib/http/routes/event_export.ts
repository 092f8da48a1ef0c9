import type { z } from "zod";
import type { AssetReader } from "../../escrow/reads/asset_info.ts";
import { subjectsOf } from "../../events/log_reader.ts";
import type { KeyRecord } from "../../store/store.ts";
import type { PublicEvent } from "../../store/event.ts";
import type { Row } from "../file_formats.ts";
import type { Dependencies } from "../request_context.ts";
import type { eventsQuery } from "../validation/event_query.ts";

/** The columns of an export, named as the fields of an event. */
export const EVENT_COLUMNS = [
  ...["id", "type", "contractId", "ledger", "ledgerClosedAt", "txHash", "deviceHash", "agent", "merchant"],
  ...["amount", "amountUnits", "asset", "reference"],
] as const;

const PAGE_EVENTS = 1_000;

/** The pages of an export: all events of the query, or `limit` of them. */
export async function* exportedEvents(
  { query, key }: { query: z.infer<typeof eventsQuery>; key: Pick<KeyRecord, "id"> },
  { history, assets }: Pick<Dependencies, "history" | "assets">,
): AsyncGenerator<Row[]> {
  const { format: _, fromLedger, toLedger, from, to, cursor, order, limit = Infinity, ...filter } = query;
  const decimals = new Map<string, number | undefined>();
  let start: { fromLedger?: number; cursor?: string } = { fromLedger, cursor };
  for (let left = limit; left > 0;) {
    const most = Math.min(left, PAGE_EVENTS);
    const range = { ...start, toLedger, times: { from, to }, order, limit: most };
    const page = await history.page({ ...range, filter: subjectsOf(filter), keyId: key.id });
    for (const { asset } of page.events) {
      if (asset && !decimals.has(asset)) decimals.set(asset, await decimalsOf(asset, assets));
    }
    yield page.events.map((event) => rowOf(event, decimals));
    if (page.events.length < most) return;
    left -= most;
    start = { cursor: page.cursor };
  }
}

/** Undefined for an asset that the node does not know now. */
async function decimalsOf(asset: string, assets: AssetReader): Promise<number | undefined> {
  return await assets(asset).then(({ decimals }) => decimals, () => undefined);
}

/** The event, and its amount in units of the asset. */
function rowOf(event: PublicEvent, decimals: ReadonlyMap<string, number | undefined>): Row {
  if (event.amount === undefined) return { ...event };
  const { amount, asset, ...origin } = event;
  const places = asset ? decimals.get(asset) : undefined;
  return { ...origin, amount, amountUnits: places === undefined ? null : inUnits(amount, places), asset };
}

/** An amount of the smallest unit, in units of the asset: 45000000 of a lumen is 4.5. */
function inUnits(amount: string, decimals: number): string {
  const digits = amount.padStart(decimals + 1, "0");
  const point = digits.length - decimals;
  return `${digits.slice(0, point)}.${digits.slice(point)}`.replace(/\.?0*$/, "");
}

import type { AssetReader } from "../escrow/reads/asset_info.ts";
import type { Row } from "./file_formats.ts";

/** A list that can be a file. */
export interface ExportedList<T> {
  /** The name of the file, without its ending. */
  name: string;
  /** The columns of CSV. */
  columns: readonly string[];
  /** @param inUnits see `unitsOf` */
  rowOf(item: T, inUnits: (amount: string, asset?: string | null) => string | null): Row;
}

/** Rows of a file, and the cursor of the page behind them. Null: this was the last page. */
export interface RowPage {
  rows: Row[];
  cursor: string | null;
}

/** Reads a page of a list. */
export type ReadPage<T> = (page: { cursor?: string; limit: number }) => Promise<{ items: T[]; cursor: string | null }>;

/** Small pages: what a page holds at a garbage collection stays in memory for long. */
const PAGE_ITEMS = 250;

/** The decimals of assets; null for an asset that the node does not know now. */
export type Decimals = Map<string, number | null>;

export interface ExportOptions {
  assets: AssetReader;
  /** Begins behind an earlier page. */
  cursor?: string;
  /** The most items. Absent: all. */
  limit?: number;
  /** The decimals that are known, and afterwards those of all assets of the file. */
  decimals?: Decimals;
}

/** The rows of a list, page by page: all of them, or `limit`. There is at least one page. Asks once for each asset. */
export async function* exportedPages<T extends object>(
  { rowOf }: Pick<ExportedList<T>, "rowOf">,
  read: ReadPage<T>,
  { assets, cursor, limit = Infinity, decimals = new Map() }: ExportOptions,
): AsyncGenerator<RowPage> {
  const inUnits = unitsOf(decimals);
  for (let left = limit, at = cursor; left > 0;) {
    const { items, cursor: next } = await read({ cursor: at, limit: Math.min(left, PAGE_ITEMS) });
    for (const { asset } of items as { asset?: string | null }[]) {
      if (!asset || decimals.has(asset)) continue;
      decimals.set(asset, await assets(asset).then(({ decimals }) => decimals, () => null));
    }
    yield { rows: items.map((item) => rowOf(item, inUnits)), cursor: next };
    if (next === null) return;
    left -= items.length;
    at = next;
  }
}

/** An amount has at most 39 digits. A token may claim to have four billion decimals. */
const MOST_DECIMALS = 38;
const ZEROS_AT_END = /\.?0*$/;

/** Converts an amount of the smallest unit into units of its asset: 45000000 of a lumen is 4.5. Null for an unknown asset. */
export function unitsOf(decimals: Decimals): (amount: string, asset?: string | null) => string | null {
  return function inUnits(amount, asset) {
    const places = asset ? decimals.get(asset) ?? null : null;
    if (places === null || places > MOST_DECIMALS) return null;
    const digits = amount.padStart(places + 1, "0");
    const point = digits.length - places;
    return `${digits.slice(0, point)}.${digits.slice(point)}`.replace(ZEROS_AT_END, "");
  };
}

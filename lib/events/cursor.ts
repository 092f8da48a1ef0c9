import { crc32 } from "node:zlib";
import { GatewayError } from "../errors.ts";
import type { LoggedEvent } from "../store/event.ts";

export type Order = "asc" | "desc";

/** The fields of a page's cursor, which alone finds the next page. */
export interface CursorParts {
  /** Sequences belong to one store (`Store.id`). */
  storeId: string;
  /** Ascending, the page has read all up to this sequence; descending, all above it. */
  sequence: number;
  /** Only events from this height on (`heightOf`), 0 for all. */
  floor: number;
  /** Only events up to this height, 0 for all. The page has skipped events above. */
  ceiling: number;
  /** The event at this sequence (`markOf`). A log restored from a backup may hold another there. 0: unknown. */
  mark: number;
  order: Order;
}

const VERSION = 1;
/** Version, order, store id (12), sequence (6), floor (6), mark (3), CRC-32 (4): 44 characters, no padding, no reserved bits. */
const LENGTH = 33;
/** The same with a ceiling (6) before the CRC-32: 52 characters. */
const BOUNDED_VERSION = 2;
const BOUNDED_LENGTH = 39;
const MARK = 26;
const CEILING = 29;
const FORM = /^[A-Za-z0-9_-]{44}(?:[A-Za-z0-9_-]{8})?$/;
/** The length of each version. */
const LENGTHS = new Map([[VERSION, LENGTH], [BOUNDED_VERSION, BOUNDED_LENGTH]]);

/** A mark of 24 bits that distinguishes events; never 0. */
export function markOf({ id, txHash }: Pick<LoggedEvent, "id" | "txHash">): number {
  return crc32(`${id} ${txHash}`) >>> 8 || 1;
}

/** The opaque text of a cursor: base64url (RFC 4648 §5) of a versioned form with a checksum. */
export function encodeCursor({ storeId, sequence, floor, ceiling, mark, order }: CursorParts): string {
  const bytes = new Uint8Array(ceiling === 0 ? LENGTH : BOUNDED_LENGTH);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, ceiling === 0 ? VERSION : BOUNDED_VERSION);
  view.setUint8(1, order === "asc" ? 0 : 1);
  for (let at = 0; at < 12; at++) view.setUint8(2 + at, storeId.charCodeAt(at));
  setUint48(view, 14, sequence);
  setUint48(view, 20, floor);
  view.setUint16(MARK, mark >>> 8);
  view.setUint8(MARK + 2, mark & 0xff);
  if (ceiling !== 0) setUint48(view, CEILING, ceiling);
  const checked = bytes.length - 4;
  view.setUint32(checked, crc32(bytes.subarray(0, checked)));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_");
}

/** Decodes a cursor. Throws `invalid_request` for text that `encodeCursor` did not make. */
export function decodeCursor(cursor: string): CursorParts {
  if (!FORM.test(cursor)) throw refused(`cursor must be one from an earlier answer, got ${shown(cursor)}`);
  const bytes = Uint8Array.from(atob(cursor.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const checked = bytes.length - 4;
  const isOurs = LENGTHS.get(view.getUint8(0)) === bytes.length && view.getUint8(1) <= 1 &&
    view.getUint32(checked) === crc32(bytes.subarray(0, checked));
  if (!isOurs) throw refused(`cursor must be one from an earlier answer, got ${shown(cursor)}`);
  return {
    storeId: String.fromCharCode(...bytes.subarray(2, 14)),
    sequence: getUint48(view, 14),
    floor: getUint48(view, 20),
    ceiling: bytes.length === BOUNDED_LENGTH ? getUint48(view, CEILING) : 0,
    mark: view.getUint16(MARK) * 2 ** 8 + view.getUint8(MARK + 2),
    order: view.getUint8(1) === 0 ? "asc" : "desc",
  };
}

function setUint48(view: DataView, at: number, value: number): void {
  view.setUint16(at, Math.floor(value / 2 ** 32));
  view.setUint32(at + 2, value % 2 ** 32);
}

function getUint48(view: DataView, at: number): number {
  return view.getUint16(at) * 2 ** 32 + view.getUint32(at + 2);
}

function refused(message: string): GatewayError {
  return new GatewayError("invalid_request", message, { param: "cursor" });
}

function shown(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
}

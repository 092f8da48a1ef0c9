import { GatewayError } from "../errors.ts";
import { formatPosition, ledgerOfRpcId, parsePosition, positionOfEventId } from "./position.ts";

const VERSION = 1;
/** Version, epoch (2), TOID (8), index (4), check (3): 24 characters, no padding, no spare bits. */
const LENGTH = 18;
const CHECKED = 15;

/** The opaque text that stands for a position: base64url (RFC 4648 §5) of a versioned form with a checksum. */
export function encodeCursor(position: string): string {
  const { epoch, toid, index } = parsePosition(position);
  const bytes = new Uint8Array(LENGTH);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, VERSION);
  view.setUint16(1, epoch);
  view.setBigUint64(3, toid);
  view.setUint32(11, index);
  const check = checksum(bytes.subarray(0, CHECKED));
  bytes.set([check >>> 16, check >>> 8, check], CHECKED);
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_");
}

/** The position a cursor stands for. Throws `invalid_request` for text that `encodeCursor` did not make. */
export function decodeCursor(cursor: string): string {
  if (!/^[A-Za-z0-9_-]{24}$/.test(cursor)) throw refuse(cursor);
  const bytes = Uint8Array.from(atob(cursor.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const position = formatPosition({
    epoch: view.getUint16(1),
    toid: view.getBigUint64(3),
    index: view.getUint32(11),
  });
  // What encodes to the same text again has our version and checksum; the id must also be one a ledger can have.
  if (ledgerOfRpcId(position.slice(5)) === undefined || encodeCursor(position) !== cursor) throw refuse(cursor);
  return position;
}

/** The cursor that goes on after the event with this id (a stream's `Last-Event-ID`). Throws `invalid_request`. */
export function cursorAfterEvent(id: string): string {
  const position = positionOfEventId(id);
  if (position === undefined) {
    throw new GatewayError("invalid_request", `Last-Event-ID must be the id of an event, got ${shown(id)}`);
  }
  return encodeCursor(position);
}

function refuse(cursor: string): GatewayError {
  return new GatewayError("invalid_request", `cursor must be one from an earlier answer, got ${shown(cursor)}`);
}

function shown(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
}

/** 32-bit FNV-1a of the checked bytes, folded to 24 bits: tells a mistyped or invented cursor from one of ours. */
function checksum(bytes: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return ((hash >>> 24) ^ hash) & 0xff_ffff;
}

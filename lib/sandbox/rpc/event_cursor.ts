import { MAX_UINT32 } from "../../ledger_numbers.ts";
import { invalidParams } from "./json_rpc.ts";

/**
 * Cursors of the event stream: a TOID of 19 digits, a hyphen, and the event's index of 10 digits. A TOID (SEP-35) holds
 * ledger, transaction and operation in one 63-bit number. Cursors sort as text.
 */

const MAX_TOID = 2n ** 63n - 1n;
const LEDGER_SHIFT = 32n;

/**
 * The ledger and the canonical form of a client's cursor.
 * @throws {JsonRpcError} -32602 when it is no cursor
 */
export function parseEventCursor(text: string): { ledger: number; id: string } {
  const match = /^(\d{1,19})-(\d{1,10})$/.exec(text);
  const toid = BigInt(match?.[1] ?? MAX_TOID + 1n);
  const index = Number(match?.[2]);
  if (toid > MAX_TOID || !(index <= MAX_UINT32)) throw invalidParams(`invalid event id ${text}`);
  return { ledger: Number(toid >> LEDGER_SHIFT), id: eventId(toid, index) };
}

/** The last cursor before `ledger`. */
export function beforeLedger(ledger: number): string {
  return endOfLedger(ledger - 1);
}

/** The last cursor within `ledger`. */
export function endOfLedger(ledger: number): string {
  const next = BigInt(ledger + 1) << LEDGER_SHIFT;
  return eventId(next > 0n ? next - 1n : 0n, MAX_UINT32);
}

function eventId(toid: bigint, index: number): string {
  return `${toid.toString().padStart(19, "0")}-${index.toString().padStart(10, "0")}`;
}

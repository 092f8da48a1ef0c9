import { Buffer } from "node:buffer";
import { GatewayError } from "../errors.ts";

export type Order = "asc" | "desc";

/** The order of a list and the place of the last record of a page. */
export function placeCursor(order: Order, ...place: (string | number)[]): string {
  return Buffer.from([order, ...place].join(" ")).toString("base64url");
}

/**
 * The order of a list, `desc` when nothing names it, and the parts of the place in the cursor.
 * @param place the form of a place, each part in a group
 * @throws {GatewayError} `invalid_request` for the cursor of another list, and for another order than the cursor's
 */
export function readPlaceCursor(
  cursor: string | undefined,
  order: Order | undefined,
  place: RegExp,
): { order: Order; place?: string[] } {
  if (cursor === undefined) return { order: order ?? "desc" };
  const text = Buffer.from(cursor, "base64url").toString();
  const [, inCursor, rest] = /^(asc|desc) (.*)$/.exec(text) ?? [];
  const parts = place.exec(rest ?? "")?.slice(1);
  if (parts === undefined) throw refused("cursor", "cursor must be a cursor from an earlier response");
  if (order !== undefined && order !== inCursor) {
    throw refused("order", `order must be ${inCursor}, as it was for this cursor; got ${order}`);
  }
  return { order: inCursor as Order, place: parts };
}

function refused(param: string, message: string): GatewayError {
  return new GatewayError("invalid_request", message, { param });
}

import type { Network } from "../network_types.ts";
import { INVALID_REQUEST, JsonRpcError, type Params } from "./json_rpc.ts";
import { readInteger, readObject, readString } from "./params.ts";
import { formatProblem, type XdrFormat, xdrFormat } from "./xdr_format.ts";

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;

/** The page that getLedgers and getTransactions return. It begins at `startLedger`, or after `cursor` unless that is empty. */
export interface PageRequest {
  startLedger: number;
  cursor: string;
  limit: number;
  format: XdrFormat;
}

/**
 * Reads the params of both methods.
 * @throws {JsonRpcError} -32600 with the real node's text for every wrong param, `xdrFormat` included
 */
export function readPageRequest(network: Network, params: Params): PageRequest {
  const startLedger = readInteger(params, "startLedger");
  const pagination = readObject(params, "pagination") ?? {};
  const cursor = readString(pagination, "cursor");
  const limit = readInteger(pagination, "limit", Number.MAX_SAFE_INTEGER);
  const format = readString(params, "xdrFormat");
  const problems = [pageProblem(network, startLedger, cursor, limit), formatProblem(format)];
  const message = problems.filter((problem) => problem !== undefined).join("\n");
  if (message !== "") throw new JsonRpcError(INVALID_REQUEST, message);
  return { startLedger, cursor, limit: limit || DEFAULT_LIMIT, format: xdrFormat(network, format) };
}

function pageProblem(network: Network, startLedger: number, cursor: string, limit: number): string | undefined {
  if (cursor !== "" && startLedger !== 0) {
    return `startLedger (${startLedger}) and cursor (${cursor}) cannot both be set`;
  }
  if (cursor === "" && !isHeld(network, startLedger)) {
    return `start ledger (${startLedger}) must be ${heldRange(network)}`;
  }
  return limit > MAX_LIMIT ? `limit must not exceed ${MAX_LIMIT}` : undefined;
}

/** Whether the node holds this ledger. */
export function isHeld(network: Network, sequence: number): boolean {
  return sequence >= network.oldestLedger().sequence && sequence <= network.latestLedger().sequence;
}

/** The ledgers that the node holds, in the real node's text. */
export function heldRange(network: Network): string {
  return `between the oldest ledger: ${network.oldestLedger().sequence} ` +
    `and the latest ledger: ${network.latestLedger().sequence} for this rpc instance`;
}

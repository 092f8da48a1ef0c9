import type { Network, XdrType } from "../network_types.ts";
import { toBase64 } from "./base64.ts";
import { INVALID_PARAMS, JsonRpcError, type Params } from "./json_rpc.ts";
import { readString } from "./params.ts";

/** The real node's text for a wrong `xdrFormat`, undefined for a valid one. */
export function formatProblem(format: string): string | undefined {
  if (["", "base64", "json"].includes(format)) return undefined;
  return `got '${format}': expected base64, json for optional 'xdrFormat'`;
}

/**
 * Reads the optional `xdrFormat`, base64 by default.
 * @throws {JsonRpcError} -32602 for anything but base64 and json
 */
export function readXdrFormat(network: Network, params: Params): XdrFormat {
  const format = readString(params, "xdrFormat");
  const problem = formatProblem(format);
  if (problem) throw new JsonRpcError(INVALID_PARAMS, problem);
  return xdrFormat(network, format);
}

/**
 * Writes the XDR of an answer in base64, or as JSON (SEP-51) under another name: `envelopeXdr` becomes `envelopeJson`, `key`
 * becomes `keyJson`. Each function returns an object with that one field.
 */
export interface XdrFormat {
  one(name: string, type: XdrType, value: Uint8Array, twin?: string): Record<string, unknown>;
  list(name: string, type: XdrType, values: Uint8Array[], twin?: string): Record<string, unknown>;
  /** A list for each operation. */
  lists(name: string, type: XdrType, values: Uint8Array[][]): Record<string, unknown>;
}

const twinOf = (name: string) => `${name.replace(/Xdr$/, "")}Json`;

const BASE64: XdrFormat = {
  one: (name, _type, value) => ({ [name]: toBase64(value) }),
  list: (name, _type, values) => ({ [name]: values.map(toBase64) }),
  lists: (name, _type, values) => ({ [name]: values.map((list) => list.map(toBase64)) }),
};

/** @param format one that `formatProblem` accepts */
export function xdrFormat(network: Network, format: string): XdrFormat {
  if (format !== "json") return BASE64;
  const json = (type: XdrType, values: Uint8Array[]) =>
    values.length === 0 ? [] : network.xdrToJson(type, values).map((text) => JSON.parse(text));
  return {
    one: (name, type, value, twin = twinOf(name)) => ({ [twin]: json(type, [value])[0] }),
    list: (name, type, values, twin = twinOf(name)) => ({ [twin]: json(type, values) }),
    lists: (name, type, values) => ({ [twinOf(name)]: values.map((list) => json(type, list)) }),
  };
}

/** `{}` for an empty list, which the real node omits. */
export function unlessEmpty<T>(list: T[], write: (list: T[]) => Record<string, unknown>): Record<string, unknown> {
  return list.length > 0 ? write(list) : {};
}

/** Readers of named params. As in the real node, null equals an absent param, and an absent param is the zero value. */
import { MAX_UINT32 } from "../../ledger_numbers.ts";
import { invalidParams, type JsonRpcError, type Params } from "./json_rpc.ts";

/** A string, "" when absent. */
export function readString(params: Params, name: string): string {
  const value = params[name] ?? "";
  if (typeof value !== "string") throw wrongType(name, "a string", value);
  return value;
}

/** A boolean, false when absent. */
export function readBoolean(params: Params, name: string): boolean {
  const value = params[name] ?? false;
  if (typeof value !== "boolean") throw wrongType(name, "a boolean", value);
  return value;
}

/** An integer 0 … `max` (default 2^32 − 1), 0 when absent. */
export function readInteger(params: Params, name: string, max = MAX_UINT32): number {
  const value = params[name] ?? 0;
  if (typeof value !== "number") throw wrongType(name, "a number", value);
  if (!Number.isInteger(value) || value < 0 || value > max) {
    throw invalidParams(`${name} must be an integer from 0 to ${max}; got ${value}`);
  }
  return value;
}

/** An object, undefined when absent. */
export function readObject(params: Params, name: string): Params | undefined {
  const value = params[name] ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value !== "object" || Array.isArray(value)) throw wrongType(name, "an object", value);
  return value as Params;
}

/** An array, empty when absent. */
export function readArray(params: Params, name: string): unknown[] {
  const value = params[name] ?? [];
  if (!Array.isArray(value)) throw wrongType(name, "an array", value);
  return value;
}

/** An array of strings, empty when absent; a null in it is "". */
export function readStrings(params: Params, name: string): string[] {
  return readArray(params, name).map((value, index) => {
    if (value !== null && typeof value !== "string") throw wrongType(`${name}[${index}]`, "a string", value);
    return value ?? "";
  });
}

function wrongType(name: string, expected: string, value: unknown): JsonRpcError {
  return invalidParams(`${name} must be ${expected}; got ${typeName(value)}`);
}

function typeName(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

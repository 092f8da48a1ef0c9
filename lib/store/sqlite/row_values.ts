import type { SqliteValue } from "../../runtime/sqlite.ts";

/** What is bound for the columns of a row, in their order. */
export function rowValues(row: object): SqliteValue[] {
  return Object.values(row).map((value) => typeof value === "boolean" ? Number(value) : value);
}

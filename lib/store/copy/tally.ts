import { createHash } from "node:crypto";
import { storableText } from "../packing.ts";

/** How many records of a kind there are, and what they hash to: alike on two stores that hold the same. */
export interface Tally {
  records: number;
  /** The sum of the SHA-256 of every record's canonical JSON, modulo 2^256, as 64 hex digits: in no order. */
  hash: string;
}

/** JSON with the keys of objects in order, and texts as every store can keep them. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, part) => {
    if (typeof part === "string") return storableText(part);
    if (part === null || typeof part !== "object" || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([one], [other]) => one < other ? -1 : 1));
  });
}

/** Counts and hashes records, page by page. */
export function createTally(): { add(records: readonly unknown[]): void; result(): Tally } {
  let records = 0;
  let sum = 0n;
  return {
    add(page) {
      records += page.length;
      for (const record of page) {
        const digest = createHash("sha256").update(canonicalJson(record)).digest("hex");
        sum = BigInt.asUintN(256, sum + BigInt(`0x${digest}`));
      }
    },
    result: () => ({ records, hash: sum.toString(16).padStart(64, "0") }),
  };
}

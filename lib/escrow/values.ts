import { StrKey } from "@stellar/stellar-sdk/base";
import { z } from "zod";
import { didYouMean } from "../nearest.ts";
import { EXAMPLE } from "./example_values.ts";

/**
 * Schemas of the values in bodies, paths and answers. Each message follows the name of its field: `amount` `must be …; got …`.
 */

/** The largest i128, and the largest amount: 2^127 − 1. */
const MAX_AMOUNT = 170141183460469231731687303715884105727n;
const MAX_U64 = 18446744073709551615n;

/** The client's value as the end of a message: shortened, and without secrets. */
export function got(input: unknown): string {
  if (input === undefined) return "";
  if (input === null) return "; got null";
  if (typeof input !== "string") return `; got ${Array.isArray(input) ? "an array" : article(typeof input)}`;
  if (/^S[A-Z2-7]{55}$/.test(input)) return "; got a secret key, which must never be sent";
  if (input.startsWith("service_sk_")) return "; got an API key";
  return `; got ${JSON.stringify(input.length > 80 ? `${input.slice(0, 40)}…` : input)}`;
}

function article(type: string): string {
  return type === "object" ? "an object" : `a ${type}`;
}

/** The error text for a schema, whichever of its checks fails. */
export function must(be: string): { error: (issue: { input?: unknown }) => string } {
  return { error: (issue) => `must be ${be}${got(issue.input)}` };
}

/** The error text for a value outside a list of names, with the nearest name. */
export function mustBeOneOf(names: readonly string[]): { error: (issue: { input?: unknown }) => string } {
  return { error: ({ input }) => `must be one of ${names.join(", ")}${gotOf(input, names)}` };
}

/** The client's value and the nearest name, as the end of a message. */
export function gotOf(input: unknown, names: readonly string[]): string {
  return got(input) + (typeof input === "string" ? didYouMean(input, names) : "");
}

/** A string with a form and a further check: a checksum, bounds. */
function text(be: string, form: RegExp, isRight: (value: string) => boolean) {
  return z.string(must(be)).regex(form, { ...must(be), abort: true }).refine(isRight, must(be));
}

const sha256 = z.string(must("64 hex digits")).regex(/^[0-9a-fA-F]{64}$/, must("64 hex digits")).toLowerCase();

/** SHA-256 of a card's UID: 64 hex digits in either case, lower case from here on. */
export const deviceHash = sha256.meta({
  description: "Card: the SHA-256 of its UID, 64 hex digits (lower case in responses).",
  example: EXAMPLE.deviceHash,
});

/** The hash that a transaction's source signs: 64 hex digits in either case, lower case from here on. */
export const transactionHash = sha256.meta({
  description: "Hash of the transaction, which its source signs: 64 hex digits (lower case in responses).",
  example: EXAMPLE.txHash,
});

/** An account, `G…`. */
export const accountAddress = text(
  "an account address (G… with its checksum)",
  /^G[A-Z2-7]{55}$/,
  (value) => StrKey.isValidEd25519PublicKey(value),
).meta({
  description: "Account: G and 55 base32 characters, with a checksum.",
  example: EXAMPLE.agent,
});

/** A contract, `C…`. */
export const contractId = text(
  "a contract id (C… with its checksum)",
  /^C[A-Z2-7]{55}$/,
  (value) => StrKey.isValidContract(value),
).meta({
  description: "Contract id of the asset: C and 55 base32 characters, with a checksum.",
  example: EXAMPLE.asset,
});

/** An account or a contract. */
export const address = text(
  "an account address (G…) or a contract id (C…) with its checksum",
  /^[GC][A-Z2-7]{55}$/,
  (value) => StrKey.isValidEd25519PublicKey(value) || StrKey.isValidContract(value),
).meta({
  description: "Account (G…) or contract (C…): 56 base32 characters, with a checksum.",
  example: EXAMPLE.owner,
});

const POSITIVE = /^[1-9][0-9]{0,38}$/;
const DECIMAL = /^(0|[1-9][0-9]{0,38})$/;

/** An amount that moves: 1 … 2^127 − 1, in the asset's smallest unit. */
export const amount = text(
  `a decimal string of the smallest unit between 1 and ${MAX_AMOUNT}`,
  POSITIVE,
  (value) => BigInt(value) <= MAX_AMOUNT,
).meta({
  description: "Amount in the asset's smallest unit: a decimal string from 1 to 2^127 − 1.",
  example: "40000000",
});

/** The cap of a policy: an amount, or 0 for none. */
export const maxAmount = text(
  `a decimal string of the smallest unit between 0 (no cap) and ${MAX_AMOUNT}`,
  DECIMAL,
  (value) => BigInt(value) <= MAX_AMOUNT,
).meta({
  description:
    "Most that one payment may move, in the asset's smallest unit: a decimal string from 0 (no cap) to 2^127 − 1.",
  example: "50000000",
});

/** An amount in an answer. */
export const amountAnswer = z.string().regex(/^(0|-?[1-9][0-9]{0,38})$/).meta({
  description: "Amount in the asset's smallest unit: a decimal string from −2^127 to 2^127 − 1.",
  example: "100000000",
});

/** A payment's nonce, above the nonce of the payment before: 1 … 2^64 − 1. */
export const nonce = text(
  `a decimal string between 1 and ${MAX_U64}`,
  /^[1-9][0-9]{0,19}$/,
  (value) => BigInt(value) <= MAX_U64,
).meta({
  description: "Number of the payment, above the previous payment's: a decimal string from 1 to 2^64 − 1.",
  example: "1",
});

const nameRule = must("1 to 128 printable ASCII characters without a blank at either end");

/** The client's own name of a transaction. */
export const reference = z.string(nameRule).max(128, nameRule).regex(/^[!-~]([ -~]*[!-~])?$/, nameRule).meta({
  description:
    "The client's own name of the transaction: 1 to 128 printable ASCII characters, without a blank at either end. Only the API " +
    "key that prepares sees it.",
  example: "order 1042",
});

/** A moment, in whole Unix seconds. */
export const unixSeconds = z.number().int().min(0).meta({
  description: "Unix time in whole seconds.",
  example: EXAMPLE.unixSeconds,
});

/** The last second of the year 9999. A later time is likely in another unit. */
const LATEST_EXPIRY = 253_402_300_799;
const seconds = {
  error({ input }: { input?: unknown }): string {
    const must = `must be whole Unix seconds between 1 and ${LATEST_EXPIRY}, or null for never`;
    if (typeof input !== "number") return `${must}${got(input)}`;
    const asMs = Math.floor(input / 1_000);
    const guess = input > LATEST_EXPIRY && asMs <= LATEST_EXPIRY ? `: as milliseconds that is ${asMs} s` : "";
    return `${must}; got ${input}${guess}`;
  },
};

/** The end of a policy: Unix seconds, or null for never. The contract reads 0 as never, so the gateway rejects 0. */
export const expiresAt = z.int(seconds).min(1, seconds).max(LATEST_EXPIRY, seconds).nullable().meta({
  description: "End of the policy: Unix seconds, from 1 to the year 9999. null for a policy without an end.",
  example: EXAMPLE.unixSeconds,
});

import { Buffer } from "node:buffer";

/** Packs the long texts of events into the bytes that they stand for. That halves the file. A text of another form stays text. */
const HASH = /^[0-9a-f]{64}$/;
const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
/** An account or a contract (SEP-23, strkey): 35 bytes with version and checksum. */
const ADDRESS = /^[A-Z2-7]{56}$/;
const VALUE_OF = new Uint8Array(128);
for (let value = 0; value < 32; value++) VALUE_OF[BASE32.charCodeAt(value)] = value;
/** Two digits for ten bits: half the steps of one for five. */
const PAIRS = Array.from({ length: 1_024 }, (_, bits) => BASE32[bits >> 5]! + BASE32[bits & 31]!);

/** 64 lower-case hex digits as 32 bytes. */
export function packHash(hash: string): Uint8Array | string {
  return HASH.test(hash) ? Buffer.from(hash, "hex") : hash;
}

export function unpackHash(packed: Uint8Array | string): string {
  return typeof packed === "string" ? packed : packed.toHex();
}

/** 56 base32 digits as 35 bytes. */
export function packAddress(address: string): Uint8Array | string {
  if (!ADDRESS.test(address)) return address;
  const bytes = new Uint8Array(35);
  let [bits, held, at] = [0, 0, 0];
  for (let index = 0; index < 56; index++) {
    bits = (bits << 5) | VALUE_OF[address.charCodeAt(index)]!;
    held += 5;
    if (held < 8) continue;
    held -= 8;
    bytes[at++] = bits >> held;
    bits &= (1 << held) - 1;
  }
  return bytes;
}

export function unpackAddress(packed: Uint8Array | string): string {
  if (typeof packed === "string") return packed;
  let address = "";
  for (let at = 0; at < 35; at += 5) {
    const middle = packed[at + 2]!;
    const high = (packed[at]! << 12) | (packed[at + 1]! << 4) | (middle >> 4);
    const low = ((middle & 15) << 16) | (packed[at + 3]! << 8) | packed[at + 4]!;
    address += PAIRS[high >> 10]! + PAIRS[high & 1_023]! + PAIRS[low >> 10]! + PAIRS[low & 1_023]!;
  }
  return address;
}

/** Seconds of an ISO 8601 UTC time, Unix. */
export function unixSeconds(iso: string): number {
  return Math.floor(Date.parse(iso) / 1_000);
}

/** The value of the column `amount`: the amount alone, or JSON of amount and asset where the asset is known. */
export function packAmount(amount: string | undefined, asset: string | undefined): string | null {
  if (asset !== undefined) return JSON.stringify([amount ?? null, asset]);
  return amount?.startsWith("[") ? JSON.stringify([amount]) : amount ?? null;
}

export function unpackAmount(packed: string): { amount?: string; asset?: string } {
  if (!packed.startsWith("[")) return { amount: packed };
  const [amount, asset]: (string | null)[] = JSON.parse(packed);
  return { ...(amount === null ? {} : { amount }), ...(asset == null ? {} : { asset }) };
}

/** Replaces NUL and lone surrogates by U+FFFD, because PostgreSQL and SQLite cannot store them in a text. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\ufffd");
}

/** JSON in which every text is storable. */
export function storableJson(value: unknown): string {
  const json = JSON.stringify(value);
  // JSON escapes the characters that a database cannot store. They are rare, and checking every value takes eight times as long.
  if (!/\\u(0000|d[89a-f])/.test(json)) return json;
  return JSON.stringify(value, (_, part) => typeof part === "string" ? storableText(part) : part);
}

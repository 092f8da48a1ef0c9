const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Fills `length` bytes with cryptographically strong randomness. */
export type RandomBytes = (length: number) => Uint8Array;

/** Web Crypto's. */
export const secureRandom: RandomBytes = (length) => crypto.getRandomValues(new Uint8Array(length));

/** `length` base62 digits, each of the 62 equally likely (5.95 bits a digit). */
export function randomBase62(length: number, random: RandomBytes): string {
  // 248 is the largest multiple of 62 in a byte. Higher bytes would favour the first digits.
  const fair = 248;
  let text = "";
  while (text.length < length) {
    for (const byte of random(length)) {
      if (byte < fair && text.length < length) text += DIGITS[byte % 62];
    }
  }
  return text;
}

/** A non-negative safe integer as base62, padded with zeros to at least `length` digits. */
export function encodeBase62(value: number, length: number): string {
  let text = "";
  for (let rest = value; rest > 0; rest = Math.floor(rest / 62)) text = DIGITS[rest % 62] + text;
  return text.padStart(length, "0");
}

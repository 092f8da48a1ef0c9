/** Lengths of a UID in bytes: single, double and triple size (ISO/IEC 14443-3, 6.5.4). */
const UID_BYTES = [4, 7, 10];
const HEX_BYTES = /^[0-9a-f]{2}(?:[:\- ]?[0-9a-f]{2})*$/i;

/**
 * The `deviceHash` of a card: SHA-256 of the bytes of its UID, as 64 lower-case hex digits.
 *
 * A four-byte UID that begins with 08 is random: the card shows another UID each time, and no client can recognise it.
 *
 * @param uid the 4, 7 or 10 bytes, or their hex digits in any case, with or without `:`, `-` or a space between bytes
 * @throws {RangeError} when `uid` is no UID
 *
 * @example
 * ```ts
 * await deviceHash("04:A2:2B:11:5C:80:01"); // the same as of "04a22b115c8001"
 * ```
 */
export async function deviceHash(uid: string | Uint8Array): Promise<string> {
  const bytes = typeof uid === "string" ? bytesOf(uid.trim()) : uid;
  if (!UID_BYTES.includes(bytes.length)) throw wrong(`${bytes.length} bytes`);
  return hexOf(new Uint8Array(await crypto.subtle.digest("SHA-256", new Uint8Array(bytes))));
}

/** Whether a card shows another UID each time: a four-byte one that begins with 08 (ISO/IEC 14443-3, 6.5.4). */
export function isRandomUid(uid: string): boolean {
  const digits = uid.replace(/[:\-\s]/g, "");
  return digits.length === 8 && digits.startsWith("08");
}

function bytesOf(uid: string): Uint8Array {
  if (!HEX_BYTES.test(uid)) throw wrong(JSON.stringify(uid.length > 40 ? `${uid.slice(0, 40)}…` : uid));
  return Uint8Array.from(uid.match(/[0-9a-f]{2}/gi)!, (pair) => parseInt(pair, 16));
}

function wrong(got: string): RangeError {
  return new RangeError(`uid must be 4, 7 or 10 bytes, such as 04:A2:2B:11:5C:80:01; got ${got}`);
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

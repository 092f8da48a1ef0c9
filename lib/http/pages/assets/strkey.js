// @ts-check
/** Stellar's text form of keys and addresses (SEP-23): base32 of a version byte, the payload and a CRC-16. */

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** Version bytes. */
const ACCOUNT = 6 << 3;
const CONTRACT = 2 << 3;
export const SEED = 18 << 3;

/**
 * The payload of a key, undefined for text that is none of this version.
 * @param {number} version
 * @param {string} text
 */
export function decodeKey(version, text) {
  if (!/^[A-Z2-7]{56}$/.test(text)) return undefined;
  const bytes = new Uint8Array(35);
  for (const [index, letter] of [...text].entries()) {
    const shifted = ALPHABET.indexOf(letter) << (11 - (index * 5 & 7));
    const at = index * 5 >> 3;
    bytes[at] = (bytes[at] ?? 0) | (shifted >> 8);
    if (at < 34) bytes[at + 1] = shifted & 0xff;
  }
  const sum = crc16(bytes.subarray(0, 33));
  const isRight = bytes[0] === version && bytes[33] === (sum & 0xff) && bytes[34] === sum >> 8;
  return isRight ? bytes.slice(1, 33) : undefined;
}

/** An account (`G…`) or a contract (`C…`), its checksum right. @param {string} text */
export function isAddress(text) {
  return decodeKey(ACCOUNT, text) !== undefined || decodeKey(CONTRACT, text) !== undefined;
}

/** An account as text. @param {Uint8Array} key 32 bytes */
export const accountAddress = (key) => encodeKey(ACCOUNT, key);
/** A contract as text. @param {Uint8Array} hash 32 bytes */
export const contractAddress = (hash) => encodeKey(CONTRACT, hash);

/** @param {number} version @param {Uint8Array} payload */
function encodeKey(version, payload) {
  const data = [version, ...payload];
  const crc = crc16(Uint8Array.from(data));
  let bits = 0;
  let held = 0;
  let text = "";
  for (const byte of [...data, crc & 0xff, crc >> 8]) {
    held = (held << 8) | byte;
    bits += 8;
    while (bits >= 5) text += ALPHABET[(held >> (bits -= 5)) & 31];
    held &= (1 << bits) - 1;
  }
  return text;
}

/** CRC-16/XMODEM. @param {Uint8Array} bytes */
function crc16(bytes) {
  let sum = 0;
  for (const byte of bytes) {
    sum ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) sum = (sum & 0x8000 ? (sum << 1) ^ 0x1021 : sum << 1) & 0xffff;
  }
  return sum;
}

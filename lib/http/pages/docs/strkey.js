// Addresses and amounts as people read them (SEP-23, SEP-11).

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const ACCOUNT = 6 << 3;
const CONTRACT = 2 << 3;

/** @param {Uint8Array} key 32 bytes */
export const accountAddress = (key) => encoded(ACCOUNT, key);
/** @param {Uint8Array} hash 32 bytes */
export const contractAddress = (hash) => encoded(CONTRACT, hash);

/** @param {number} version @param {Uint8Array} payload */
function encoded(version, payload) {
  const data = [version, ...payload];
  const crc = crc16(data);
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

/** CRC-16/XMODEM. @param {number[]} bytes */
function crc16(bytes) {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc;
}

/** @param {Uint8Array} bytes */
export async function sha256(bytes) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

/** @param {Uint8Array} bytes */
export function hex(bytes) {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The contract of lumens on a network: the hash of HashIDPreimage (CAP-46-6). @param {string} passphrase */
export async function nativeContract(passphrase) {
  const network = await sha256(new TextEncoder().encode(passphrase));
  const preimage = new Uint8Array(44);
  const view = new DataView(preimage.buffer);
  view.setInt32(0, 8); // ENVELOPE_TYPE_CONTRACT_ID
  preimage.set(network, 4);
  view.setInt32(36, 1); // CONTRACT_ID_PREIMAGE_FROM_ASSET
  view.setInt32(40, 0); // ASSET_TYPE_NATIVE
  return contractAddress(await sha256(preimage));
}

/** Stroops as lumens: 26000n → "0.0026". @param {bigint} stroops */
export function lumens(stroops) {
  const text = stroops.toString().padStart(8, "0");
  return `${text.slice(0, -7)}.${text.slice(-7)}`.replace(/\.?0+$/, "");
}

// Lumens: their contract, and their amounts in units.

import { contractAddress } from "../assets/strkey.js";

/** @param {Uint8Array} bytes */
export async function sha256(bytes) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
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

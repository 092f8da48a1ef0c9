// @ts-check
import { decodeKey, SEED } from "../assets/strkey.js";

/** Signs for the demo accounts of the sandbox, with Ed25519 of Web Crypto. The page never asks for another secret. */

/** `ENVELOPE_TYPE_TX`, four bytes. */
const ENVELOPE_TYPE_TX = [0, 0, 0, 2];
/** The header of a 32-byte Ed25519 seed in PKCS #8 (RFC 8410). */
const PKCS8_HEAD = [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

/** @param {...(ArrayLike<number>)} parts */
function joined(...parts) {
  const bytes = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** @param {Uint8Array<ArrayBuffer>} bytes */
async function sha256(bytes) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

/** @param {Uint8Array} bytes */
export function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The network's id: SHA-256 of its passphrase. @param {string} passphrase */
function networkId(passphrase) {
  return sha256(new TextEncoder().encode(passphrase));
}

/**
 * The transaction in an unsigned envelope, as bytes.
 * @param {string} xdr base64
 */
function transactionIn(xdr) {
  const bytes = Uint8Array.from(atob(xdr), (letter) => letter.charCodeAt(0));
  const isUnsigned = bytes.slice(-4).every((byte) => byte === 0);
  if (!ENVELOPE_TYPE_TX.every((byte, at) => bytes[at] === byte) || !isUnsigned) {
    throw new Error("the gateway's answer is no unsigned transaction, so the page does not sign it");
  }
  return bytes.slice(4, -4);
}

/**
 * Signs a prepared envelope and returns it with the signature, in base64. This function computes the hash from the envelope
 * and compares it with the gateway's.
 *
 * @param {{ xdr: string, hash: string, networkPassphrase: string }} prepared
 * @param {string} secret `S…`
 */
export async function signEnvelope({ xdr, hash, networkPassphrase }, secret) {
  const seed = decodeKey(SEED, secret);
  if (seed === undefined) throw new Error("the account has no secret key (S…)");
  const transaction = transactionIn(xdr);
  const digest = await sha256(joined(await networkId(networkPassphrase), ENVELOPE_TYPE_TX, transaction));
  if (hex(digest) !== hash) {
    throw new Error("the envelope has another hash than the gateway says, so the page does not sign it");
  }
  const key = await crypto.subtle.importKey("pkcs8", joined(PKCS8_HEAD, seed), "Ed25519", true, ["sign"]);
  const publicKey = (await crypto.subtle.exportKey("jwk", key)).x ?? "";
  const signature = new Uint8Array(await crypto.subtle.sign("Ed25519", key, digest));
  const hint = base64UrlBytes(publicKey).slice(-4);
  // One DecoratedSignature: the hint, then 64 bytes after their length.
  const signed = joined(ENVELOPE_TYPE_TX, transaction, [0, 0, 0, 1], hint, [0, 0, 0, 64], signature);
  return btoa(String.fromCharCode(...signed));
}

/** @param {string} text */
function base64UrlBytes(text) {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
}

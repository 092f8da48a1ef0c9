// Decodes transaction envelopes (Stellar-transaction.x, Stellar-contract.x), as far as the gateway prepares them.

import { accountAddress, contractAddress } from "../assets/strkey.js";
import { sha256 } from "./native_asset.js";

/** Reads XDR (RFC 4506) from its first byte to its last. */
class Reader {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = 0;
  }
  int() {
    return this.view.getInt32(this.skip(4));
  }
  uint() {
    return this.view.getUint32(this.skip(4));
  }
  uint64() {
    return this.view.getBigUint64(this.skip(8));
  }
  int64() {
    return this.view.getBigInt64(this.skip(8));
  }
  /** @param {number} length */
  fixed(length) {
    const start = this.skip(Math.ceil(length / 4) * 4);
    return this.bytes.subarray(start, start + length);
  }
  opaque() {
    return this.fixed(this.uint());
  }
  text() {
    return new TextDecoder().decode(this.opaque());
  }
  /** @template T @param {() => T} read @returns {T[]} */
  array(read) {
    const length = this.uint();
    if (length > this.bytes.length) throw new RangeError("one of its lengths goes beyond its end");
    return Array.from({ length }, read);
  }
  /** @template T @param {() => T} read */
  optional(read) {
    return this.int() === 0 ? undefined : read();
  }
  /** @param {number} length */
  skip(length) {
    const { at } = this;
    if (at + length > this.bytes.length) throw new RangeError("it is cut off");
    this.at += length;
    return at;
  }
}

const ENVELOPE_TX = 2;
const ENVELOPE_FEE_BUMP = 5;
const INVOKE_HOST_FUNCTION = 24;
const SIGNATURE_BYTES = 72;

/** @typedef {{ contract: string, function: string, args: unknown[], under: Invocation[] }} Invocation */

/**
 * @typedef {object} Decoded
 * @property {string} source the account that has to sign
 * @property {bigint} fee maximum, in stroops
 * @property {bigint | undefined} validUntil Unix seconds
 * @property {string} contract
 * @property {string} function
 * @property {unknown[]} args addresses as text, bytes as hex, numbers as bigint
 * @property {Invocation[]} authorised the calls that the signature allows, each with the calls beneath it
 * @property {string} hash the signer signs this, hex
 * @property {number} signatures their number
 * @property {boolean} isFeeBump whether another account pays the fee
 */

/**
 * Decodes an envelope with one invocation.
 * @param {string} base64 @param {string} passphrase of the envelope's network
 * @returns {Promise<Decoded>}
 * @throws {Error} when the text is no such envelope, with the reason
 */
export async function decodeEnvelope(base64, passphrase) {
  const bytes = bytesOf(base64);
  const reader = new Reader(bytes);
  const type = reader.int();
  if (type !== ENVELOPE_TX && type !== ENVELOPE_FEE_BUMP) throw new Error("it is no transaction envelope");
  const isFeeBump = type === ENVELOPE_FEE_BUMP;
  const payer = isFeeBump ? { source: muxed(reader), fee: reader.int64(), inner: reader.int() } : undefined;
  const source = muxed(reader);
  const fee = BigInt(reader.uint());
  reader.int64(); // the sequence number
  const validUntil = preconditions(reader);
  memo(reader);
  const count = reader.uint();
  if (count !== 1) throw new Error(`it has ${count} operations, and an envelope of the gateway has one`);
  if (reader.optional(() => muxed(reader)) !== undefined) throw new Error("its operation acts for another account");
  if (reader.int() !== INVOKE_HOST_FUNCTION || reader.int() !== 0) throw new Error("it does not call a contract");
  const called = call(reader);
  const authorised = reader.array(() => authorisation(reader));
  const { signatures, end } = signaturesOf(bytes);
  const network = await sha256(new TextEncoder().encode(passphrase));
  const hash = hex(await sha256(joined(network, bytes.subarray(0, end))));
  return {
    source: payer?.source ?? source,
    fee: payer?.fee ?? fee,
    validUntil,
    ...called,
    authorised,
    hash,
    signatures,
    isFeeBump,
  };
}

/** @param {string} base64 */
function bytesOf(base64) {
  try {
    return Uint8Array.from(atob(base64.replace(/\s/g, "")), (character) => character.charCodeAt(0));
  } catch {
    throw new Error("it is not base64");
  }
}

/** @param {Reader} reader */
function call(reader) {
  return { contract: address(reader), function: reader.text(), args: reader.array(() => value(reader)) };
}

/** @param {Reader} reader */
function authorisation(reader) {
  if (reader.int() !== 0) throw new Error("it authorises calls of another account");
  return invocation(reader);
}

/** @param {Reader} reader @returns {Invocation} */
function invocation(reader) {
  if (reader.int() !== 0) throw new Error("it authorises something that is no call");
  return { ...call(reader), under: reader.array(() => invocation(reader)) };
}

/** The signatures stand last, each with its length. The hashed transaction ends before their count. */
function signaturesOf(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let count = 20; count >= 0; count--) {
    const end = bytes.length - 4 - count * SIGNATURE_BYTES;
    if (end < 4 || view.getUint32(end) !== count) continue;
    const lengths = Array.from({ length: count }, (_, index) => view.getUint32(end + 8 + index * SIGNATURE_BYTES));
    if (lengths.every((length) => length === 64)) return { signatures: count, end };
  }
  throw new Error("its signatures are malformed");
}

function joined(first, second) {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}

/** @param {Reader} reader */
function muxed(reader) {
  const type = reader.int();
  if (type === 0x100) reader.uint64();
  else if (type !== 0) throw new Error("its source has an unknown type");
  return accountAddress(reader.fixed(32));
}

/** The end of the validity, in Unix seconds. @param {Reader} reader */
function preconditions(reader) {
  const type = reader.int();
  const times = () => [reader.uint64(), reader.uint64()][1];
  if (type === 0) return undefined;
  if (type === 1) return times();
  if (type !== 2) throw new Error("its preconditions have an unknown type");
  const until = reader.optional(times);
  reader.optional(() => [reader.uint(), reader.uint()]);
  reader.optional(() => reader.int64());
  reader.uint64();
  reader.uint();
  if (reader.array(() => 0).length > 0) throw new Error("it requires more signers");
  return until;
}

/** @param {Reader} reader */
function memo(reader) {
  const type = reader.int();
  if (type === 1) reader.opaque();
  else if (type === 2) reader.uint64();
  else if (type === 3 || type === 4) reader.fixed(32);
  else if (type !== 0) throw new Error("its memo has an unknown type");
}

/** @param {Reader} reader */
function address(reader) {
  const type = reader.int();
  if (type === 0) {
    reader.int();
    return accountAddress(reader.fixed(32));
  }
  if (type === 1) return contractAddress(reader.fixed(32));
  throw new Error("one of its addresses has an unknown type");
}

/** @type {Record<number, (reader: Reader) => unknown>} */
const VALUES = {
  0: (reader) => reader.int() !== 0,
  1: () => null,
  3: (reader) => BigInt(reader.uint()),
  4: (reader) => BigInt(reader.int()),
  5: (reader) => reader.uint64(),
  6: (reader) => reader.int64(),
  9: (reader) => (reader.uint64() << 64n) | reader.uint64(),
  10: (reader) => (reader.int64() << 64n) | reader.uint64(),
  13: (reader) => hex(reader.opaque()),
  14: (reader) => reader.text(),
  15: (reader) => reader.text(),
  18: address,
};

/** @param {Reader} reader */
function value(reader) {
  const read = VALUES[reader.int()];
  if (read === undefined) throw new Error("it passes a type of value that no operation of the gateway has");
  return read(reader);
}

/** @param {Uint8Array} bytes */
function hex(bytes) {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

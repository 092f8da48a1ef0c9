import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";

/** SHA-256 of the joined parts. */
export function sha256(...parts: Uint8Array[]): Uint8Array {
  const digest = createHash("sha256");
  for (const part of parts) digest.update(part);
  return new Uint8Array(digest.digest());
}

const asBuffer = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Bytes as a string with one character per byte, a cheap key for a Map. */
export function keyOf(bytes: Uint8Array): string {
  // Without a Buffer, which would double the cost.
  return Buffer.prototype.toString.call(bytes, "latin1");
}

/** The inverse of `keyOf`. */
export function bytesOf(key: string): Uint8Array {
  return new Uint8Array(Buffer.from(key, "latin1"));
}

export function toHex(bytes: Uint8Array): string {
  return asBuffer(bytes).toString("hex");
}

export function fromHex(hex: string): Uint8Array {
  return new Uint8Array(Buffer.from(hex, "hex"));
}

export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return asBuffer(a).equals(asBuffer(b));
}

export interface XdrWriter {
  readonly length: number;
  uint32(value: number): XdrWriter;
  int32(value: number): XdrWriter;
  int64(value: bigint): XdrWriter;
  /** Encoded XDR, or opaque of a fixed length that is a multiple of four. */
  raw(bytes: Uint8Array): XdrWriter;
  /** Opaque of variable length, or text in UTF-8. */
  opaque(bytes: Uint8Array): XdrWriter;
  /** A variable array of encoded values. */
  list(items: readonly Uint8Array[]): XdrWriter;
  /** A copy of the written bytes. */
  finish(): Uint8Array;
}

/** Enough for most changes and keys. A larger buffer would cost more than an occasional growth. */
const INITIAL_CAPACITY = 128;

/**
 * Writes XDR (RFC 4506) around encoded parts. Metadata consists of entries and events that stay bytes. Decoding and encoding
 * them would cost more than applying the transaction.
 */
export function createXdrWriter(): XdrWriter {
  // No DataView, because creating one takes longer than the writes.
  let buffer = new Uint8Array(INITIAL_CAPACITY);
  let length = 0;

  function reserve(size: number): number {
    const at = length;
    length += size;
    if (length > buffer.length) {
      const grown = new Uint8Array(Math.max(length, buffer.length * 2));
      grown.set(buffer.subarray(0, at));
      buffer = grown;
    }
    return at;
  }

  function writeWord(value: number) {
    const at = reserve(4);
    buffer[at] = value >>> 24;
    buffer[at + 1] = value >>> 16;
    buffer[at + 2] = value >>> 8;
    buffer[at + 3] = value;
  }

  const writer: XdrWriter = {
    get length() {
      return length;
    },
    uint32(value) {
      writeWord(value);
      return writer;
    },
    int32(value) {
      writeWord(value);
      return writer;
    },
    int64(value) {
      writeWord(Number(BigInt.asUintN(32, value >> 32n)));
      writeWord(Number(BigInt.asUintN(32, value)));
      return writer;
    },
    raw(bytes) {
      const at = reserve(bytes.length);
      buffer.set(bytes, at);
      return writer;
    },
    opaque(bytes) {
      writeWord(bytes.length);
      const at = reserve((bytes.length + 3) & ~3);
      buffer.set(bytes, at);
      return writer;
    },
    list(items) {
      writer.uint32(items.length);
      for (const item of items) writer.raw(item);
      return writer;
    },
    finish: () => buffer.slice(0, length),
  };
  return writer;
}

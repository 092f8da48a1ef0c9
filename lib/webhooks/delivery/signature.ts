import { Buffer } from "node:buffer";
import { hash } from "node:crypto";

/** Fills `length` bytes with cryptographically strong randomness. */
export type RandomBytes = (length: number) => Uint8Array;

const SECRET_PREFIX = "whsec_";
/** Standard Webhooks asks for 24 to 64 bytes. */
const SECRET_BYTES = 32;

/** A new signing secret: `whsec_` and 32 random bytes in base64, as Standard Webhooks writes it. */
export function createSecret(random: RandomBytes): string {
  return SECRET_PREFIX + btoa(String.fromCharCode(...random(SECRET_BYTES)));
}

/** A secret made ready to sign many texts. */
export interface SigningSecret {
  /** HMAC-SHA256 keyed with the whole secret string. */
  service(text: string): string;
  /** The same keyed with what the base64 after `whsec_` holds. */
  standard(text: string): string;
}

/** Makes a plain secret (`whsec_…`) ready: worth keeping for as long as it signs. */
export function signingSecret(secret: string): SigningSecret {
  const service = hmac(Buffer.from(secret));
  const standard = hmac(Buffer.from(secret.slice(SECRET_PREFIX.length), "base64"));
  return {
    service: (text) => service(text, "hex"),
    standard: (text) => standard(text, "base64"),
  };
}

export interface SignatureInput {
  /** The newest first: two or three while a rotation lasts. Each gives a signature of its own. */
  secrets: readonly SigningSecret[];
  /** Goes into `webhook-id`; a receiver deduplicates on it. */
  eventId: string;
  /** The raw body, exactly as it is sent. */
  body: string;
  /** Unix ms of this attempt: a retry is signed afresh, or it would be too old to be believed. */
  nowMs: number;
}

/**
 * The headers that prove a delivery: `X-Service-Signature: t=…,v1=…` (HMAC-SHA256 of `<t>.<body>` in hex, keyed with the
 * whole secret string) and the trio of Standard Webhooks (https://www.standardwebhooks.com), `webhook-id`,
 * `webhook-timestamp` and `webhook-signature: v1,…` (HMAC-SHA256 of `<id>.<timestamp>.<body>` in base64, keyed with what
 * the base64 after `whsec_` holds).
 */
export function signatureHeaders({ secrets, eventId, body, nowMs }: SignatureInput): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1000));
  const service = secrets.map((secret) => `v1=${secret.service(`${timestamp}.${body}`)}`);
  const standard = secrets.map((secret) => `v1,${secret.standard(`${eventId}.${timestamp}.${body}`)}`);
  return {
    "X-Service-Signature": `t=${timestamp},${service.join(",")}`,
    "webhook-id": eventId,
    "webhook-timestamp": timestamp,
    "webhook-signature": standard.join(" "),
  };
}

const BLOCK_BYTES = 64;
const HASH_BYTES = 32;
const encoder = new TextEncoder();
/** What is hashed next: a padded key, and a text behind it. Nothing waits while it is in use. */
let scratch = new Uint8Array(4_096);

/**
 * HMAC-SHA256 of many texts with one key (RFC 2104), each in two hashes over bytes that are ready. `createHmac` and copies
 * of a begun hash take twice as long; Web Crypto takes longer still.
 * @param key at most 64 bytes, or its hash stands for it
 */
function hmac(key: Uint8Array): (text: string, encoding: "hex" | "base64") => string {
  const bytes = key.length > BLOCK_BYTES ? hash("sha256", key, "buffer") : key;
  const inner = new Uint8Array(BLOCK_BYTES).fill(0x36);
  const outer = new Uint8Array(BLOCK_BYTES + HASH_BYTES).fill(0x5c);
  for (const [index, byte] of bytes.entries()) {
    inner[index]! ^= byte;
    outer[index]! ^= byte;
  }
  return (text, encoding) => {
    const mostBytes = BLOCK_BYTES + 3 * text.length;
    if (scratch.length < mostBytes) scratch = new Uint8Array(mostBytes);
    scratch.set(inner);
    const { written } = encoder.encodeInto(text, scratch.subarray(BLOCK_BYTES));
    outer.set(hash("sha256", scratch.subarray(0, BLOCK_BYTES + written), "buffer"), BLOCK_BYTES);
    return hash("sha256", outer, encoding);
  };
}

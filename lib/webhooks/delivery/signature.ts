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
  /** Signs `<t>.<body>` as `X-Service-Signature` has it, and `<id>.<t>.<body>` as Standard Webhooks does. */
  sign(id: string, text: string): { service: string; standard: string };
}

/** Makes a plain secret (`whsec_…`) ready: worth keeping for as long as it signs. */
export function signingSecret(secret: string): SigningSecret {
  const service = hmacKey(Buffer.from(secret));
  const standard = hmacKey(Buffer.from(secret.slice(SECRET_PREFIX.length), "base64"));
  return {
    sign(id, text) {
      const whole = `${id}.${text}`;
      const mostBytes = BLOCK_BYTES + 3 * whole.length;
      if (scratch.length < mostBytes) scratch = new Uint8Array(mostBytes);
      const end = BLOCK_BYTES + encoder.encodeInto(whole, scratch.subarray(BLOCK_BYTES)).written;
      // The one text is the end of the other: its key takes the place of what comes before.
      return {
        standard: hmac(standard, 0, end, "base64"),
        service: hmac(service, Buffer.byteLength(id) + 1, end, "hex"),
      };
    },
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
  const signatures = secrets.map((secret) => secret.sign(eventId, `${timestamp}.${body}`));
  return {
    "X-Service-Signature": `t=${timestamp},${signatures.map(({ service }) => `v1=${service}`).join(",")}`,
    "webhook-id": eventId,
    "webhook-timestamp": timestamp,
    "webhook-signature": signatures.map(({ standard }) => `v1,${standard}`).join(" "),
  };
}

const BLOCK_BYTES = 64;
const HASH_BYTES = 32;
const encoder = new TextEncoder();
/** What is hashed next: a padded key, and a text behind it. Nothing waits while it is in use. */
let scratch = new Uint8Array(4_096);

/** A key as RFC 2104 pads it; the outer one has room for the inner hash behind it. */
interface HmacKey {
  inner: Uint8Array;
  outer: Uint8Array;
}

/** @param key at most 64 bytes, or its hash stands for it */
function hmacKey(key: Uint8Array): HmacKey {
  const bytes = key.length > BLOCK_BYTES ? hash("sha256", key, "buffer") : key;
  const inner = new Uint8Array(BLOCK_BYTES).fill(0x36);
  const outer = new Uint8Array(BLOCK_BYTES + HASH_BYTES).fill(0x5c);
  for (const [index, byte] of bytes.entries()) {
    inner[index]! ^= byte;
    outer[index]! ^= byte;
  }
  return { inner, outer };
}

/**
 * HMAC-SHA256 (RFC 2104) of what stands in `scratch` from a block after `start` on, up to `end`; the block is overwritten.
 * Two hashes over bytes that are ready: `createHmac` and copies of a begun hash take twice as long; Web Crypto takes longer
 * still.
 */
function hmac({ inner, outer }: HmacKey, start: number, end: number, encoding: "hex" | "base64"): string {
  scratch.set(inner, start);
  outer.set(hash("sha256", scratch.subarray(start, end), "buffer"), BLOCK_BYTES);
  return hash("sha256", outer, encoding);
}

import { Buffer } from "node:buffer";
import { createHash, type Hash } from "node:crypto";

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
    service: (text) => service(text).digest("hex"),
    standard: (text) => standard(text).digest("base64"),
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

/**
 * HMAC-SHA256 whose key is hashed once instead of for each text, as RFC 2104 §4 suggests. `createHmac` prepares its key
 * anew each time, which on Deno takes longer than the text; Web Crypto takes longer still.
 * @param key at most 64 bytes, or its hash stands for it
 */
function hmac(key: Uint8Array): (text: string) => Hash {
  const bytes = key.length > BLOCK_BYTES ? createHash("sha256").update(key).digest() : key;
  const padded = (filler: number) => {
    const block = new Uint8Array(BLOCK_BYTES).fill(filler);
    for (const [index, byte] of bytes.entries()) block[index]! ^= byte;
    return createHash("sha256").update(block);
  };
  const [inner, outer] = [padded(0x36), padded(0x5c)];
  return (text) => outer.copy().update(inner.copy().update(text).digest());
}

import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";

/** Fills `length` bytes with cryptographically strong randomness. */
export type RandomBytes = (length: number) => Uint8Array;

const SECRET_PREFIX = "whsec_";
/** Standard Webhooks asks for 24 to 64 bytes. */
const SECRET_BYTES = 32;

/** A new signing secret: `whsec_` and 32 random bytes in base64, as Standard Webhooks writes it. */
export function createSecret(random: RandomBytes): string {
  return SECRET_PREFIX + btoa(String.fromCharCode(...random(SECRET_BYTES)));
}

export interface SignatureInput {
  /** Plain secrets (`whsec_…`), the newest first: two while a rotation lasts. Each gives a signature of its own. */
  secrets: readonly string[];
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
  const service = secrets.map((secret) => `v1=${hmac(secret, `${timestamp}.${body}`).digest("hex")}`);
  const standard = secrets.map((secret) =>
    `v1,${hmac(standardKey(secret), `${eventId}.${timestamp}.${body}`).digest("base64")}`
  );
  return {
    "X-Service-Signature": `t=${timestamp},${service.join(",")}`,
    "webhook-id": eventId,
    "webhook-timestamp": timestamp,
    "webhook-signature": standard.join(" "),
  };
}

/** Not Web Crypto: that takes two to four times as long for a short text, most of it in promises. */
function hmac(key: string | Uint8Array, text: string) {
  return createHmac("sha256", key).update(text);
}

function standardKey(secret: string): Uint8Array {
  return Buffer.from(secret.slice(SECRET_PREFIX.length), "base64");
}

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

/** A prepared secret, for many signatures. */
export interface SigningSecret {
  /** Signs `<t>.<body>` for `X-Service-Signature`, and `<id>.<t>.<body>` for Standard Webhooks. */
  sign(id: string, text: string): { service: string; standard: string };
}

/** Prepares a plain secret (`whsec_…`). Keep it for as long as it signs. */
export function signingSecret(secret: string): SigningSecret {
  const service = hmacKey(Buffer.from(secret));
  const standard = hmacKey(Buffer.from(secret.slice(SECRET_PREFIX.length), "base64"));
  return {
    sign(id, text) {
      const whole = `${id}.${text}`;
      const mostBytes = BLOCK_BYTES + 3 * whole.length;
      if (scratch.length < mostBytes) scratch = new Uint8Array(mostBytes);
      const end = BLOCK_BYTES + encoder.encodeInto(whole, scratch.subarray(BLOCK_BYTES)).written;
      // One text is the end of the other, so its key overwrites the bytes before it.
      return {
        standard: hmac(standard, 0, end, "base64"),
        service: hmac(service, Buffer.byteLength(id) + 1, end, "hex"),
      };
    },
  };
}

export interface SignatureInput {
  /** Newest first, two or three during a rotation. Each adds a signature. */
  secrets: readonly SigningSecret[];
  /** Sent as `webhook-id`, by which a receiver removes duplicates. */
  eventId: string;
  /** The raw body, exactly as sent. */
  body: string;
  /** Time of this attempt, Unix ms. A retry needs a new signature, or the receiver finds it too old. */
  nowMs: number;
}

/**
 * The signature headers of a delivery. `X-Service-Signature: t=…,v1=…` has the HMAC-SHA256 of `<t>.<body>` in hex,
 * keyed with the whole secret string. Standard Webhooks (https://www.standardwebhooks.com) has `webhook-id`,
 * `webhook-timestamp` and `webhook-signature: v1,…`. That is the HMAC-SHA256 of `<id>.<timestamp>.<body>` in base64,
 * keyed with the decoded base64 after `whsec_`.
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
/** The next bytes to hash: a padded key and a text. Used without awaits. */
let scratch = new Uint8Array(4_096);

/** A key with RFC 2104 padding. The outer one has room for the inner hash. */
interface HmacKey {
  inner: Uint8Array;
  outer: Uint8Array;
}

/** @param key hashed first when longer than 64 bytes */
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
 * HMAC-SHA256 (RFC 2104) of the text in `scratch` from a block after `start` to `end`; overwrites the block.
 * `createHmac` and copies of a started hash take twice as long, Web Crypto longer still.
 */
function hmac({ inner, outer }: HmacKey, start: number, end: number, encoding: "hex" | "base64"): string {
  scratch.set(inner, start);
  outer.set(hash("sha256", scratch.subarray(start, end), "buffer"), BLOCK_BYTES);
  return hash("sha256", outer, encoding);
}

/** The headers of a webhook from a server, or the value of `X-Service-Signature` alone. */
export type WebhookHeaders = Headers | Record<string, string | string[] | undefined> | string;

export interface VerifyWebhookOptions {
  /** The raw body, not parsed. Bytes are best, because reading as text drops a byte order mark. */
  body: Uint8Array | ArrayBuffer | string;
  headers: WebhookHeaders;
  /** The subscription's secret (`whsec_…`), or several during a rotation. */
  secret: string | readonly string[];
  /** The largest difference between the signature's time and now, before or after. 300 when absent. */
  toleranceSeconds?: number;
  /** Unix milliseconds; the clock's when absent. */
  nowMs?: number;
}

export type WebhookVerification =
  | {
    ok: true;
    /** The time of the signature, Unix seconds. */
    timestamp: number;
    /** The event's id from `webhook-id`; absent without the Standard Webhooks headers. */
    id?: string;
  }
  | {
    ok: false;
    reason: "missing_signature" | "malformed_signature" | "timestamp_out_of_tolerance" | "wrong_signature";
    /** The problem, for a log. */
    message: string;
  };

/** More signatures than any rotation makes; further ones are ignored. */
const MAX_SIGNATURES = 8;
const MAX_HEADER_LENGTH = 4_096;
const SECRET_PREFIX = "whsec_";
const SECRET = /^whsec_[A-Za-z0-9+/]+={0,2}$/;

/**
 * Verifies that the gateway signed a webhook, and signed it recently. Checks `X-Service-Signature` and the headers of
 * Standard Webhooks (`webhook-id`, `webhook-timestamp`, `webhook-signature`). At least one of the two signatures must be
 * there, and each one must be right. Compares in constant time. Needs Web Crypto only: browsers, workers, Node, Deno, Bun.
 *
 * @example
 * ```ts
 * const body = new Uint8Array(await request.arrayBuffer());
 * const verified = await verifyWebhook({ body, headers: request.headers, secret });
 * if (!verified.ok) return new Response(verified.message, { status: 400 });
 * const { event } = JSON.parse(new TextDecoder().decode(body)); // deduplicate on event.id
 * ```
 *
 * @throws {TypeError} when a secret has the wrong form or the body was parsed, which is the receiver's mistake
 */
export async function verifyWebhook(options: VerifyWebhookOptions): Promise<WebhookVerification> {
  const { headers, toleranceSeconds = 300, nowMs = Date.now() } = options;
  const secrets = secretsOf(options.secret);
  const body = bytesOf(options.body);
  const claims = readClaims(headers);
  if ("ok" in claims) return claims;
  for (const { timestamp } of claims) {
    const aheadSeconds = timestamp - nowMs / 1000;
    // Negated, so that NaN fails.
    if (!(Math.abs(aheadSeconds) <= toleranceSeconds)) {
      const where = aheadSeconds > 0 ? "in the future" : "in the past";
      const message = `the signature is ${
        Math.ceil(Math.abs(aheadSeconds))
      } s ${where}, at most ${toleranceSeconds} s are allowed`;
      return { ok: false, reason: "timestamp_out_of_tolerance", message };
    }
  }
  for (const claim of claims) {
    if (await isSignedBy(claim, secrets, body)) continue;
    const message = `no signature in ${claim.header} is right for this body and secret`;
    return { ok: false, reason: "wrong_signature", message };
  }
  const id = claims.find((claim) => claim.id !== undefined)?.id;
  return { ok: true, timestamp: claims[0]!.timestamp, ...(id === undefined ? {} : { id }) };
}

/** The time and the signatures of one header. */
interface Claim {
  header: string;
  /** Unix seconds. */
  timestamp: number;
  id?: string;
  /** The signed text before the body. */
  prefix: string;
  signatures: Uint8Array<ArrayBuffer>[];
  keyOf(secret: string): Uint8Array<ArrayBuffer>;
}

type Failure = Extract<WebhookVerification, { ok: false }>;

function readClaims(headers: WebhookHeaders): Claim[] | Failure {
  const service = headerOf(headers, "x-service-signature");
  const standard = headerOf(headers, "webhook-signature");
  if (service === undefined && standard === undefined) {
    return { ok: false, reason: "missing_signature", message: "there is no X-Service-Signature header" };
  }
  const claims: Claim[] = [];
  for (
    const read of [
      service === undefined ? undefined : readService(service),
      standard === undefined ? undefined : readStandard(headers, standard),
    ]
  ) {
    if (typeof read === "string") return { ok: false, reason: "malformed_signature", message: read };
    if (read !== undefined) claims.push(read);
  }
  return claims;
}

/** `t=1700000000,v1=<64 hex digits>[,v1=…]`; ignores other parts, which future versions may add. */
function readService(text: string): Claim | string {
  const header = "X-Service-Signature";
  if (text.length > MAX_HEADER_LENGTH) return `${header} is too long`;
  const parts = text.split(",").map((part) => part.trim());
  const times = parts.filter((part) => part.startsWith("t=")).map((part) => part.slice(2));
  if (times.length !== 1 || !isTimestamp(times[0]!)) return `${header} must have one t=<Unix seconds>`;
  const signatures = parts.filter((part) => /^v1=[0-9a-f]{64}$/i.test(part)).map((part) => hexBytes(part.slice(3)));
  if (signatures.length === 0) return `${header} must have a v1=<64 hex digits>`;
  return {
    header,
    timestamp: Number(times[0]),
    prefix: `${times[0]}.`,
    signatures: signatures.slice(0, MAX_SIGNATURES),
    keyOf: (secret) => encoder.encode(secret),
  };
}

/** `v1,<base64>[ v1,…]` beside id and timestamp (Standard Webhooks, "Signature scheme"). */
function readStandard(headers: WebhookHeaders, text: string): Claim | string {
  const header = "webhook-signature";
  const id = headerOf(headers, "webhook-id");
  const time = headerOf(headers, "webhook-timestamp");
  if (id === undefined || id === "") return "webhook-id is missing beside webhook-signature";
  if (time === undefined || !isTimestamp(time)) return "webhook-timestamp must be Unix seconds";
  if (text.length > MAX_HEADER_LENGTH) return `${header} is too long`;
  const signatures = text.split(" ").filter((part) => /^v1,[A-Za-z0-9+/]{43}=$/.test(part)).map((part) =>
    base64Bytes(part.slice(3))
  );
  if (signatures.length === 0) return `${header} must have a v1,<base64>`;
  return {
    header,
    timestamp: Number(time),
    id,
    prefix: `${id}.${time}.`,
    signatures: signatures.slice(0, MAX_SIGNATURES),
    keyOf: standardKey,
  };
}

async function isSignedBy(
  { prefix, signatures, keyOf }: Claim,
  secrets: readonly string[],
  body: Uint8Array,
): Promise<boolean> {
  const head = encoder.encode(prefix);
  const signed = new Uint8Array(head.length + body.length);
  signed.set(head);
  signed.set(body, head.length);
  for (const secret of secrets) {
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    const key = await crypto.subtle.importKey("raw", keyOf(secret), algorithm, false, ["verify"]);
    for (const signature of signatures) {
      if (await crypto.subtle.verify("HMAC", key, signature, signed)) return true;
    }
  }
  return false;
}

const encoder = new TextEncoder();

function headerOf(headers: WebhookHeaders, name: string): string | undefined {
  if (typeof headers === "string") return name === "x-service-signature" ? headers : undefined;
  // Also accepts Headers of a package or of another realm.
  if (typeof headers.get === "function") return (headers as Headers).get(name) ?? undefined;
  // Frameworks differ in the case of their header names.
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name);
  const value: string | string[] | undefined = found?.[1];
  return Array.isArray(value) ? value.join(",") : value;
}

function isTimestamp(text: string): boolean {
  return /^\d{1,12}$/.test(text);
}

/** @throws {TypeError} for a secret in a wrong form, such as an unset variable */
function secretsOf(secret: unknown): string[] {
  const secrets: unknown[] = Array.isArray(secret) ? secret : [secret];
  for (const one of secrets) {
    if (typeof one === "string" && SECRET.test(one)) continue;
    const got = typeof one === "string" ? "another text" : typeNameOf(one);
    throw new TypeError(`secret must be ${SECRET_PREFIX} and base64, with nothing after it; got ${got}`);
  }
  return secrets as string[];
}

/** @throws {TypeError} for a body that a framework has parsed: its JSON may have other bytes than the signed body */
function bytesOf(body: unknown): Uint8Array {
  if (typeof body === "string") return encoder.encode(body);
  // Also accepts arrays of another realm.
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  const isBuffer = /^\[object (Shared)?ArrayBuffer\]$/.test(Object.prototype.toString.call(body));
  if (isBuffer) return new Uint8Array(body as ArrayBuffer);
  throw new TypeError(
    `body must be the raw bytes or text of the request, before it is parsed; got ${typeNameOf(body)}`,
  );
}

function typeNameOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function hexBytes(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text.match(/../g)!, (pair) => parseInt(pair, 16));
}

function base64Bytes(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}

function standardKey(secret: string): Uint8Array<ArrayBuffer> {
  try {
    return base64Bytes(secret.slice(SECRET_PREFIX.length));
  } catch {
    throw new TypeError(`secret must be ${SECRET_PREFIX} and base64`);
  }
}

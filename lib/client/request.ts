import type { TransactionStatus } from "./api_types.ts";

/** A failed call. `reason` has the cause; the optional fields are present when the gateway sends them. */
export interface Failure {
  ok: false;
  reason: FailureReason;
  /** For a log, or a developer. */
  message: string;
  /** How to retry: the `same` request after a pause, after another prepare (`prepare_again`), or `never` unchanged. */
  retry: "same" | "prepare_again" | "never";
  /** HTTP status; absent when there was no answer. */
  status?: number;
  /** The request's id in the gateway's log. */
  requestId?: string;
  /** With `contract_refused`: the name of the contract's error (`DuplicateAuth`), or its number (`#10`) without a name. */
  contractError?: TransactionStatus["contractError"];
  /** The network's code for a rejected transaction (`txBadSeq`). */
  transactionError?: string;
  /** The reason as in `checkPayment`, because some contract errors have several causes. */
  paymentReason?: string;
  /** The field or parameter at fault. */
  param?: string;
}

export type FailureReason =
  /** The gateway's error codes. */
  | "invalid_request"
  | "unauthorized"
  | "insufficient_scope"
  | "not_found"
  | "device_not_found"
  | "agent_not_found"
  | "contract_refused"
  | "rate_limited"
  | "internal_error"
  | "upstream_error"
  | "unavailable"
  /** No answer: no connection, or a time-out. */
  | "unreachable"
  /** An answer that does not come from a gateway. */
  | "not_a_gateway";

/** The gateway's answer with `ok: true` among its fields, or the failure. Methods return it and do not throw. */
export type Result<Answer> = ({ ok: true } & Answer) | Failure;

export interface RequestOptions {
  /** Cancels the request, with the result `unreachable`. */
  signal?: AbortSignal;
  /** `Idempotency-Key`. */
  idempotencyKey?: string;
}

export interface ConnectionOptions {
  /** The gateway's URL: `https://gateway.example.com`. */
  baseUrl: string;
  /** `service_sk_…`; leave it out when your own proxy adds it. */
  apiKey?: string;
  /** The time-out of one answer, milliseconds. 75 000 when absent, because a submit waits for its confirmation. */
  timeoutMs?: number;
  /** The longest total wait after 429 answers, milliseconds; 60 000 when absent, 0 for no wait. */
  maxWaitMs?: number;
  /** Another `fetch` than the runtime's. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

/** The connection to one gateway. */
export interface Connection {
  /** Sends a request, and repeats it after a 429 answer when its Retry-After is over. */
  request<Answer>(method: string, path: string, body?: unknown, options?: RequestOptions): Promise<Result<Answer>>;
  /** Opens an event stream, whose body the caller reads. Any other answer is a failure. */
  open(path: string, headers: Record<string, string>, signal: AbortSignal): Promise<Response | Failure>;
}

const TIMEOUT_MS = 75_000;
/** Timers count milliseconds in 31 bits; a longer one would fire at once. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;
const MAX_WAIT_MS = 60_000;

/** @throws {TypeError} when `baseUrl` is no URL, a header cannot hold `apiKey`, or a time is no number */
export function createConnection(options: ConnectionOptions): Connection {
  const { baseUrl, apiKey } = options;
  const timeoutMs = timeOf("timeoutMs", options.timeoutMs ?? TIMEOUT_MS);
  const maxWaitMs = timeOf("maxWaitMs", options.maxWaitMs ?? MAX_WAIT_MS);
  const ask = options.fetch ?? ((url: string, init: RequestInit) => globalThis.fetch(url, init));
  const { origin, pathname, protocol, username, password, search, hash } = new URL(baseUrl);
  // `localhost:8787` is a URL too, with the scheme `localhost`.
  if (!/^https?:$/.test(protocol)) throw new TypeError("baseUrl must begin with http:// or https://");
  if (username + password + search + hash !== "") {
    throw new TypeError("baseUrl must have no user, password, query or fragment; pass the API key as apiKey");
  }
  const root = origin + pathname.replace(/\/+$/, "");
  const headers: Record<string, string> = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  // Without the runtime's message, which may hold the key.
  if (whyNoHeaders(headers) !== undefined) {
    throw new TypeError("apiKey must be an API key; got characters that a header cannot hold");
  }

  /** Sends one request. The time-out covers reading the whole answer. */
  async function once(
    method: string,
    path: string,
    body: unknown,
    { signal, idempotencyKey }: RequestOptions,
  ): Promise<{ response: Response; answer: unknown } | Failure> {
    // In a header, `null` would be the text "null", one key for all intents.
    const named: Record<string, string> = idempotencyKey == null ? {} : { "idempotency-key": idempotencyKey };
    const why = whyNoHeaders(named);
    if (why !== undefined) return unsendable(`idempotencyKey: ${why}`);
    let sent: { body?: string };
    try {
      sent = body === undefined ? {} : { body: JSON.stringify(body) };
    } catch (cause) {
      return unsendable(textOf(cause));
    }
    const timeUp = AbortSignal.timeout(Math.min(timeoutMs, LONGEST_TIMEOUT_MS));
    try {
      const response = await ask(root + path, {
        method,
        headers: { ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }), ...named },
        ...sent,
        signal: signal === undefined ? timeUp : AbortSignal.any([signal, timeUp]),
      });
      const text = await response.text();
      return { response, answer: parsed(text) };
    } catch (cause) {
      return unreachable(cause);
    }
  }

  return {
    async request<Answer>(method: string, path: string, body?: unknown, options: RequestOptions = {}) {
      for (let waitedMs = 0;;) {
        const asked = await once(method, path, body, options);
        if ("ok" in asked) return asked;
        const { response, answer } = asked;
        if (response.ok && typeof answer === "object" && answer !== null) return { ok: true, ...answer as Answer };
        const waitMs = 1_000 * Math.max(1, Number(response.headers.get("retry-after")) || 1);
        if (response.status !== 429 || waitedMs + waitMs > maxWaitMs) return failureOf(response, answer);
        waitedMs += waitMs;
        if (!await pause(waitMs, options.signal)) return unreachable(options.signal?.reason);
      }
    },
    async open(path, more, signal) {
      try {
        const response = await ask(root + path, { headers: { ...headers, ...more }, signal });
        const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
        if (response.ok && isStream) return response;
        return failureOf(response, parsed(await response.text()));
      } catch (cause) {
        return unreachable(cause);
      }
    },
  };
}

/** Rejects NaN, as from an unset variable: with NaN requests would fail, or wait for ever after a 429. */
function timeOf(name: string, ms: number): number {
  if (ms >= 0) return ms;
  throw new TypeError(`${name} must be a number of milliseconds, got ${ms}`);
}

/** Waits; resolves with false when the signal ended the wait. */
export function pause(ms: number, signal?: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve(false);
    const end = (isOver: boolean) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", aborted);
      resolve(isOver);
    };
    const aborted = () => end(false);
    const timer = setTimeout(() => end(true), Math.min(ms, LONGEST_TIMEOUT_MS));
    signal?.addEventListener("abort", aborted, { once: true });
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function unreachable(cause: unknown): Failure {
  return { ok: false, reason: "unreachable", message: `the gateway does not answer: ${textOf(cause)}`, retry: "same" };
}

/** The failure of a request that cannot be sent, and so never succeeds. */
function unsendable(why: string): Failure {
  return { ok: false, reason: "invalid_request", message: `the request cannot be sent: ${why}`, retry: "never" };
}

/** Why these cannot be headers; undefined when they can. */
function whyNoHeaders(headers: Record<string, string>): string | undefined {
  try {
    new Headers(headers);
  } catch (cause) {
    return textOf(cause);
  }
}

function textOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

function failureOf({ status, headers }: Response, answer: unknown): Failure {
  const error = (answer as { error?: Record<string, string> } | undefined)?.error;
  if (error?.code === undefined) {
    const message = `the answer with status ${status} does not come from a gateway`;
    return { ok: false, reason: "not_a_gateway", message, retry: status >= 500 ? "same" : "never", status };
  }
  const { code, message = "", contractError, transactionError, reason: paymentReason, param } = error;
  const retry = (error.retry ?? (status >= 500 || status === 429 ? "same" : "never")) as Failure["retry"];
  const requestId = headers.get("x-request-id") ?? undefined;
  const more = present({ requestId, contractError, transactionError, paymentReason, param });
  return { ok: false, reason: code as FailureReason, message, retry, status, ...more };
}

/** The fields that have a value. */
export function present(fields: Partial<Failure>): Partial<Failure> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

import type { TransactionStatus } from "./api_types.ts";

/**
 * Something that did not work out. `reason` names the failure; the other fields are there where the gateway sends them.
 */
export interface Failure {
  ok: false;
  reason: FailureReason;
  /** For a log, or a developer. */
  message: string;
  /** `same`: retry after a pause. `prepare_again`: prepare a new envelope. `never`: change something first. */
  retry: "same" | "prepare_again" | "never";
  /** HTTP status; absent when there was no answer. */
  status?: number;
  /** Names the request in the gateway's log. */
  requestId?: string;
  /** Name of the contract's error (`DuplicateAuth`), with `contract_refused`; of one without a name its number (`#10`). */
  contractError?: TransactionStatus["contractError"];
  /** The network's name for why it did not apply a transaction (`txBadSeq`). */
  transactionError?: string;
  /** The reason that `checkPayment` would answer, where the contract's error has several causes. */
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
  /** There was no answer: no connection, or none in time. */
  | "unreachable"
  /** There was an answer that is no gateway's. */
  | "not_a_gateway";

/** An answer of the gateway with `ok: true` beside its fields, or what went wrong. Nothing is thrown. */
export type Result<Answer> = ({ ok: true } & Answer) | Failure;

export interface RequestOptions {
  /** Ends it: the result is `unreachable`. */
  signal?: AbortSignal;
  /** `Idempotency-Key`. */
  idempotencyKey?: string;
}

export interface ConnectionOptions {
  /** Where the gateway is: `https://gateway.example.com`. */
  baseUrl: string;
  /** `service_sk_…`; leave it out behind a proxy of your own that adds it. */
  apiKey?: string;
  /** How long one answer may take, in milliseconds. The default of 75 000 covers a submit. */
  timeoutMs?: number;
  /** How long a request waits in all for its rate, in milliseconds; 60 000 by default, 0 for not at all. */
  maxWaitMs?: number;
  /** Another `fetch` than the runtime's. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

/** The way to one gateway. */
export interface Connection {
  /** Asks, and asks again when the rate was used up (429), as soon as the gateway says. */
  request<Answer>(method: string, path: string, body?: unknown, options?: RequestOptions): Promise<Result<Answer>>;
  /** Opens an event stream; the caller reads its body. Any other answer comes from no gateway. */
  open(path: string, headers: Record<string, string>, signal: AbortSignal): Promise<Response | Failure>;
}

const TIMEOUT_MS = 75_000;
/** Timers count milliseconds in 31 bits: one that is set for longer is over at once. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;
const MAX_WAIT_MS = 60_000;

/** @throws {TypeError} when `baseUrl` is none, no header can carry `apiKey`, or a time is none */
export function createConnection(options: ConnectionOptions): Connection {
  const { baseUrl, apiKey } = options;
  const timeoutMs = timeOf("timeoutMs", options.timeoutMs ?? TIMEOUT_MS);
  const maxWaitMs = timeOf("maxWaitMs", options.maxWaitMs ?? MAX_WAIT_MS);
  const ask = options.fetch ?? ((url: string, init: RequestInit) => globalThis.fetch(url, init));
  const { origin, pathname, protocol } = new URL(baseUrl);
  // `localhost:8787` is a URL, of a scheme called localhost.
  if (!/^https?:$/.test(protocol)) throw new TypeError("baseUrl must begin with http:// or https://");
  const root = origin + pathname.replace(/\/+$/, "");
  const headers: Record<string, string> = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  // Not what the runtime says: that may hold the key.
  if (whyNoHeaders(headers) !== undefined) {
    throw new TypeError("apiKey must be an API key: no header can carry this one");
  }

  /** One question. How long it may take counts until all of the answer is read. */
  async function once(
    method: string,
    path: string,
    body: unknown,
    { signal, idempotencyKey }: RequestOptions,
  ): Promise<{ response: Response; answer: unknown } | Failure> {
    // As a header `null` would be one name for all intents.
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

/** With NaN, as of a variable that is not set, no request could be made, or one would wait for its rate for ever. */
function timeOf(name: string, ms: number): number {
  if (ms >= 0) return ms;
  throw new TypeError(`${name} must be a number of milliseconds, got ${ms}`);
}

/** Waits; answers false when the signal came first. */
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

/** The same would fail the same way: it was not sent. */
function unsendable(why: string): Failure {
  return { ok: false, reason: "invalid_request", message: `the request cannot be sent: ${why}`, retry: "never" };
}

/** The problem with these as headers, or undefined. */
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
    const message = `what answered with ${status} is no gateway`;
    return { ok: false, reason: "not_a_gateway", message, retry: status >= 500 ? "same" : "never", status };
  }
  const { code, message = "", contractError, transactionError, reason: paymentReason, param } = error;
  const retry = (error.retry ?? (status >= 500 || status === 429 ? "same" : "never")) as Failure["retry"];
  const requestId = headers.get("x-request-id") ?? undefined;
  const more = present({ requestId, contractError, transactionError, paymentReason, param });
  return { ok: false, reason: code as FailureReason, message, retry, status, ...more };
}

/** The entries that have a value. */
export function present(fields: Partial<Failure>): Partial<Failure> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

// @ts-check
/** Calls the gateway's API. Only this file has the key, in memory, and a reload removes it. */

let key = "";

/** The gateway's root: the page lies beside `/v1`, under any prefix that a proxy adds. */
export const baseUrl = () => new URL(".", location.href);

/** @typedef {{ limit: number, remaining: number }} Rate */

/** Callbacks for the state of the key: its remaining rate, and the end of the session. */
export const listeners = {
  /** @param {Rate} _rate */
  rate(_rate) {},
  /** @param {string} _why */
  signedOut(_why) {},
};

/** An error of the gateway, with its message. */
export class ApiError extends Error {
  /**
   * @param {number} status HTTP status; 0 when the gateway did not answer
   * @param {string} code
   * @param {string} message
   * @param {number} retryAfterSeconds
   */
  constructor(status, code, message, retryAfterSeconds) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** @param {string} given */
export function useKey(given) {
  key = given;
}

export function forgetKey() {
  key = "";
}

/** The public part of the key: `service_sk_<this>_<secret>`. */
export function keyId() {
  return key.split("_")[2] ?? "";
}

/** @typedef {{ query?: Record<string, string | number | undefined>, body?: unknown, signal?: AbortSignal, headers?: Record<string, string> }} Options */

/**
 * Sends a request and returns the response.
 * @param {string} method
 * @param {string} path `v1/status`
 * @param {Options} [options]
 * @returns {Promise<Response>}
 */
export async function open(method, path, { query = {}, body, signal, headers } = {}) {
  const url = new URL(path, baseUrl());
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value));
  const used = key;
  const response = await fetch(url, {
    method,
    headers: {
      Authorization: `Bearer ${used}`,
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...headers,
    },
    body: body === undefined ? undefined : JSON.stringify(body),
    cache: "no-store",
    credentials: "omit",
    signal,
  }).catch((error) => {
    if (signal?.aborted) throw error;
    throw new ApiError(0, "no_answer", "the gateway does not answer", 0);
  });
  // An answer for an earlier key says nothing of the present one.
  if (used !== key) throw new ApiError(0, "signed_out", "the session of this key has ended", 0);
  const limit = Number(response.headers.get("X-RateLimit-Limit"));
  if (response.status !== 401 && limit > 0) {
    listeners.rate({ limit, remaining: Number(response.headers.get("X-RateLimit-Remaining")) });
  }
  return response;
}

/**
 * Sends a request and returns the body. A 401 ends the session.
 * @template [T=any]
 * @param {string} method
 * @param {string} path
 * @param {Options} [options]
 * @returns {Promise<T>}
 * @throws {ApiError}
 */
export async function request(method, path, options) {
  const response = await open(method, path, options);
  const answer = await response.json().catch(() => undefined);
  if (response.ok && answer !== undefined) return answer;
  throw refused(response, answer);
}

/**
 * @param {Response} response
 * @param {{ error?: { code: string, message: string } } | undefined} answer
 */
export function refused(response, answer) {
  const { code, message } = answer?.error ?? { code: "no_answer", message: `the gateway answered ${response.status}` };
  if (response.status === 401) listeners.signedOut(message);
  return new ApiError(response.status, code, message, Number(response.headers.get("Retry-After")) || 0);
}

/**
 * @template [T=any]
 * @param {string} path
 * @param {Options["query"]} [query]
 * @param {AbortSignal} [signal]
 * @returns {Promise<T>}
 */
export function get(path, query, signal) {
  return request("GET", path, { query, signal });
}

/**
 * @template [T=any]
 * @param {string} path
 * @param {unknown} [body]
 * @returns {Promise<T>}
 */
export function post(path, body) {
  return request("POST", path, { body });
}

/**
 * Posts with an `Idempotency-Key` that changes only with the body, so that a retry after a lost answer acts once.
 * @param {string} path
 * @returns {(body: unknown) => Promise<any>}
 */
export function postOnce(path) {
  let intended = "";
  let intent = "";
  return function postIntent(body) {
    const text = JSON.stringify(body);
    // Over plain HTTP a page has no randomUUID.
    if (text !== intended) intent = crypto.getRandomValues(new BigUint64Array(2)).join("-");
    intended = text;
    return request("POST", path, { body, headers: { "Idempotency-Key": intent } });
  };
}

/** Whether the key lacks the scope of the request. @param {unknown} error */
export function isOutOfScope(error) {
  return error instanceof ApiError && error.status === 403;
}

/** @param {unknown} error */
export function isMissing(error) {
  return error instanceof ApiError && error.status === 404;
}

/**
 * Loads now, and again every `everyMs` while the page is visible, until `signal` aborts. It shows only changes, so that the
 * reader keeps the place in the page.
 *
 * @template T
 * @param {{ load: () => Promise<T>, show: (value: T) => void, fail: (error: unknown) => void, everyMs: number, signal: AbortSignal }} options
 * @returns {() => void} loads at once
 */
export function keepLoading({ load, show, fail, everyMs, signal }) {
  let shown = "";
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let isLoading = false;
  /** A request came while one was loading, which may have missed the change. */
  let isWanted = false;
  async function round() {
    clearTimeout(timer);
    isWanted = isLoading;
    if (signal.aborted || isLoading) return;
    let waitMs = everyMs;
    isLoading = true;
    if (!document.hidden || shown === "") {
      try {
        const value = await load();
        const text = JSON.stringify(value);
        if (!signal.aborted && text !== shown) show(value);
        shown = text;
        if (isWanted) waitMs = 0;
      } catch (error) {
        if (signal.aborted) return;
        shown = "failed";
        fail(error);
        if (error instanceof ApiError) waitMs = Math.max(waitMs, error.retryAfterSeconds * 1_000);
      }
    }
    isLoading = false;
    if (!signal.aborted) timer = setTimeout(round, waitMs);
  }
  document.addEventListener("visibilitychange", () => !document.hidden && round(), { signal });
  signal.addEventListener("abort", () => clearTimeout(timer));
  void round();
  return round;
}

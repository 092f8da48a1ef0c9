// @ts-check
/** The gateway's API as the page calls it. The key is kept here, in memory, and nowhere else: a reload forgets it. */

let key = "";

/** Where the gateway is: the page lies beside `/v1`, whatever prefix a proxy puts before both. */
export const baseUrl = () => new URL(".", location.href);

/** @typedef {{ limit: number, remaining: number }} Rate */

/** Told of what an answer says of the key: its rate, and that it is no key any more. */
export const listeners = {
  /** @param {Rate} _rate */
  rate(_rate) {},
  /** @param {string} _why */
  signedOut(_why) {},
};

/** What the gateway refused, in its words. */
export class ApiError extends Error {
  /**
   * @param {number} status HTTP status; 0: it did not answer
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
 * Asks, and answers the response as it is. 401 ends the session.
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
  // What is answered to a key of before says nothing of the one of now.
  if (used !== key) throw new ApiError(0, "signed_out", "this key is signed out", 0);
  const limit = Number(response.headers.get("X-RateLimit-Limit"));
  if (response.status !== 401 && limit > 0) {
    listeners.rate({ limit, remaining: Number(response.headers.get("X-RateLimit-Remaining")) });
  }
  return response;
}

/**
 * Asks, and answers the body.
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
 * Posts under an `Idempotency-Key` that is the same while the body is: pressed again after its answer was lost, it is done once.
 * @param {string} path
 * @returns {(body: unknown) => Promise<any>}
 */
export function postOnce(path) {
  let intended = "";
  let intent = "";
  return function postIntent(body) {
    const text = JSON.stringify(body);
    // Not randomUUID, which a page that came over plain HTTP does not have.
    if (text !== intended) intent = crypto.getRandomValues(new BigUint64Array(2)).join("-");
    intended = text;
    return request("POST", path, { body, headers: { "Idempotency-Key": intent } });
  };
}

/** Whether the key lacks the scope that was asked for. @param {unknown} error */
export function isOutOfScope(error) {
  return error instanceof ApiError && error.status === 403;
}

/** @param {unknown} error */
export function isMissing(error) {
  return error instanceof ApiError && error.status === 404;
}

/**
 * Loads now, and again every `everyMs` while the page is looked at, until `signal` ends it. What has not changed is not
 * shown again, so that nobody loses the place where they are.
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
  /** Asked for while it was loaded, which may have been too early for what has changed. */
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

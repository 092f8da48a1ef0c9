import { GatewayError } from "../../errors.ts";
import { connect, type Connection, ConnectionFailure } from "./connection.ts";
import { createConnectionPool } from "./connection_pool.ts";
import type { HttpAnswer } from "./http_answer.ts";
import { MAX_KEPT_BYTES } from "./http_body.ts";
import { postBytes } from "./http_request.ts";
import { printable } from "./printable.ts";
import type { TargetPolicy, VettedTarget } from "../targets/policy.ts";
import { createTimeLimit, type TimeLimit } from "./time_limit.ts";

export interface PostRequest {
  url: string;
  /** Beside `Host`, `Content-Length` and `Accept-Encoding`, which are set here. */
  headers: Record<string, string>;
  body: string;
  /** For everything: look-up, connecting, TLS, sending, the whole answer. 10 000 when absent. */
  timeoutMs?: number;
  /** Gives up at once when aborted. */
  signal?: AbortSignal;
}

/** What one POST came to: an answer, or why there was none, or why it did not come in full. */
export interface PostResult {
  /** Absent when there was no answer. */
  statusCode?: number;
  /**
   * In short words for an operator: why there was no answer or, beside a `statusCode`, why it did not come in full.
   * An answer that was cut because it is too long is full.
   */
  error?: string;
  /** The `Retry-After` header as it came. */
  retryAfter?: string;
  /** The beginning of the answer's body as printable text, at most 1 KiB; empty when there was none. */
  responseBody: string;
  durationMs: number;
  /** The address that was connected to; absent when none was. */
  address?: string;
}

export interface Poster {
  /** Makes one POST. Never rejects for what the target or the network does. */
  post(request: PostRequest): Promise<PostResult>;
  /** Closes the connections that are kept for later. */
  close(): void;
}

export interface PosterOptions {
  /** Asked at each POST: what it vetted is what is connected to. */
  policy: Pick<TargetPolicy, "check">;
  /** Unix ms. */
  now: () => number;
  /** Certificates (PEM) to trust instead of the runtime's own. */
  ca?: string;
  /** How many connections are kept for later, over all targets. */
  maxIdle?: number;
  /** How long one is kept. */
  idleMs?: number;
}

const DEFAULT_TIMEOUT_MS = 10_000;
/** While there are further addresses to try. */
const ADDRESS_TIMEOUT_MS = 2_500;

/**
 * Posts to targets that their owners chose, and trusts them with nothing: the address is vetted at each attempt and
 * connected to as it was vetted, no redirect is followed, no proxy is used, nothing is expanded, everything is bounded.
 * It speaks HTTP/1.1 over sockets of its own, because the runtimes' HTTP clients each follow some setting of the
 * environment or resolve names again, and take four times the processor time.
 */
export function createPoster({ policy, now, ca, maxIdle, idleMs }: PosterOptions): Poster {
  const pool = createConnectionPool({ now, maxIdle, idleMs });

  /** A connection to one of the vetted addresses: one that is open, or else the first that can be made. */
  async function connectionTo(target: VettedTarget, limit: TimeLimit): Promise<Connection> {
    for (const address of target.addresses) {
      const idle = pool.take(poolKey(target, address));
      if (idle !== undefined) return idle;
    }
    return await freshConnectionTo(target, limit);
  }

  async function freshConnectionTo({ url, host, addresses }: VettedTarget, limit: TimeLimit): Promise<Connection> {
    const isSecure = url.protocol === "https:";
    const port = Number(url.port) || (isSecure ? 443 : 80);
    let failure: unknown;
    for (const [index, address] of addresses.entries()) {
      const { connected, giveUp } = connect({ address, port, ...(isSecure ? { tls: { host, ca } } : {}) });
      limit.onReached(giveUp);
      const isLast = index === addresses.length - 1;
      const timer = isLast ? undefined : setTimeout(giveUp, ADDRESS_TIMEOUT_MS, "connection timed out");
      try {
        return await connected;
      } catch (error) {
        failure = error;
        if (limit.reached !== undefined) break;
      } finally {
        clearTimeout(timer);
      }
    }
    throw failure;
  }

  async function exchange(target: VettedTarget, request: Uint8Array, limit: TimeLimit): Promise<PostResult> {
    let connection = await connectionTo(target, limit);
    for (let isSecondTry = false;; isSecondTry = true) {
      const { address, destroy } = connection;
      try {
        const answering = connection.exchange(request);
        limit.onReached(destroy);
        const answer = await answering;
        if (connection.isOpen) pool.give(poolKey(target, address), connection);
        return resultOf(answer, address);
      } catch (error) {
        if (!(error instanceof ConnectionFailure)) throw error;
        if (!error.wasStale || isSecondTry || limit.reached !== undefined) return failureOf(error, address);
        // Closed while it waited, most likely unread: a fresh one will tell. At worst it is delivered twice.
        connection = await freshConnectionTo(target, limit);
      }
    }
  }

  async function attempt({ url, headers, body }: PostRequest, limit: TimeLimit): Promise<PostResult> {
    try {
      const target = await vetted(policy, url, limit);
      return await exchange(target, postBytes(target.url, headers, body), limit);
    } catch (error) {
      if (!(error instanceof ConnectionFailure || error instanceof GatewayError)) throw error;
      return { error: error.message, responseBody: "", durationMs: 0 };
    }
  }

  return {
    async post(request) {
      const startedAtMs = now();
      const limit = createTimeLimit(request.timeoutMs ?? DEFAULT_TIMEOUT_MS, request.signal);
      try {
        const result = await attempt(request, limit);
        result.durationMs = now() - startedAtMs;
        return result;
      } finally {
        limit.clear();
      }
    },
    close: pool.close,
  };
}

/** The look-up can't be stopped, only left behind; it has a bound of its own. */
function vetted(policy: PosterOptions["policy"], url: string, limit: TimeLimit): Promise<VettedTarget> {
  const { promise, resolve, reject } = Promise.withResolvers<VettedTarget>();
  limit.onReached((why) => reject(new ConnectionFailure(why)));
  policy.check(url).then(resolve, reject);
  return promise;
}

/** Nothing is shared between names, even at one address: the certificate was checked for one of them. */
function poolKey({ url, host }: VettedTarget, address: string): string {
  return `${url.protocol}${host}:${url.port}>${address}`;
}

function resultOf(answer: HttpAnswer, address: string): PostResult {
  const { statusCode, retryAfter, contentEncoding = "identity", bodyStart } = answer;
  const isPlain = contentEncoding.toLowerCase() === "identity";
  return {
    statusCode,
    ...(retryAfter === undefined ? {} : { retryAfter }),
    responseBody: isPlain ? printable(bodyStart, MAX_KEPT_BYTES) : "",
    durationMs: 0,
    address,
  };
}

function failureOf({ message, answer }: ConnectionFailure, address: string): PostResult {
  const result = answer === undefined ? { responseBody: "", durationMs: 0, address } : resultOf(answer, address);
  return { ...result, error: message };
}

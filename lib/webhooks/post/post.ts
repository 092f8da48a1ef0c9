import { Buffer } from "node:buffer";
import { GatewayError } from "../../errors.ts";
import { type Connection, Connections, type Endpoint, PostFailure } from "./connections.ts";
import { createDeadlines, type TimeLimit } from "./deadlines.ts";
import { exchange, type Message, type PostResult } from "./exchange.ts";
import type { CheckedTarget, TargetPolicy } from "../targets/policy.ts";

export type { PostResult };

export interface PostRequest {
  url: string;
  /** Besides `Host`, `Accept`, `Content-Length` and `Accept-Encoding`, which the poster sets. */
  headers: Record<string, string>;
  body: string;
  /** Skips the body of a 2xx answer: `responseBody` is then empty. */
  ignoresSuccessBody?: boolean;
  /** For look-up, connecting, TLS, sending and the whole answer; 10 000 when absent. */
  timeoutMs?: number;
  /** Aborts it within a tenth of a second. */
  signal?: AbortSignal;
}

export interface Poster {
  /** Makes one POST. Never rejects for what the target or the network does. */
  post(request: PostRequest): Promise<PostResult>;
  /** Closes the idle connections. */
  close(): void;
}

export interface PosterOptions {
  /** Checked at each POST. The poster connects only to the checked addresses. */
  policy: Pick<TargetPolicy, "check">;
  /** Unix ms. */
  now: () => number;
  /** Certificates (PEM) to trust instead of the runtime's own. */
  ca?: string;
  /** How many idle connections stay open, over all targets. */
  maxIdle?: number;
  /** How long an idle connection stays open. */
  idleMs?: number;
}

const DEFAULT_TIMEOUT_MS = 10_000;
/** While there are more addresses to try. */
const ADDRESS_TIMEOUT_MS = 2_500;

/**
 * Posts to targets of webhook owners, which are not trusted. It checks the addresses at each attempt and connects to
 * exactly those. It follows no redirect, uses no proxy and decompresses nothing. Everything is bounded except the
 * number of concurrent posts, which the caller limits.
 */
export function createPoster({ policy, now, ca, maxIdle = 512, idleMs = 15_000 }: PosterOptions): Poster {
  const connections = new Connections({ maxIdle, idleMs, ca });
  const deadlines = createDeadlines();

  /** Connects to the first of the checked addresses that accepts. */
  async function connectTo(endpoints: Endpoint[], limit: TimeLimit): Promise<Connection> {
    let failure: unknown;
    for (const [index, endpoint] of endpoints.entries()) {
      const { opened, giveUp } = connections.connect(endpoint);
      limit.onReached(giveUp);
      const isLast = index === endpoints.length - 1;
      const timer = isLast ? undefined : setTimeout(giveUp, ADDRESS_TIMEOUT_MS, "connection timed out");
      try {
        return await opened;
      } catch (error) {
        failure = error;
        if (limit.reached !== undefined) break;
      } finally {
        clearTimeout(timer);
      }
    }
    throw failure;
  }

  async function attempt(request: PostRequest, limit: TimeLimit): Promise<PostResult> {
    const target = await checked(policy, request.url, limit);
    const endpoints = endpointsOf(target);
    const message = messageOf(target.url, request);
    const waiting = connections.take(endpoints);
    if (waiting !== undefined) {
      const { result, wasStale } = await exchange(connections, waiting, message, limit);
      // The idle connection was closed, most likely before the receiver read the request. A new one shows; at worst the
      // receiver gets it twice.
      if (!wasStale || limit.reached !== undefined) return result;
    }
    const fresh = await connectTo(endpoints, limit);
    return (await exchange(connections, fresh, message, limit)).result;
  }

  return {
    async post(request) {
      const startedAtMs = now();
      const limit = deadlines.limit(request.timeoutMs ?? DEFAULT_TIMEOUT_MS, request.signal);
      let result: PostResult;
      try {
        result = await attempt(request, limit);
      } catch (error) {
        if (!(error instanceof PostFailure || error instanceof GatewayError)) throw error;
        result = { error: error.message, responseBody: "", durationMs: 0 };
      } finally {
        deadlines.clear(limit);
      }
      result.durationMs = now() - startedAtMs;
      return result;
    },
    close: () => connections.close(),
  };
}

/** The look-up cannot be stopped, only abandoned. It has its own time limit. */
function checked(policy: PosterOptions["policy"], url: string, limit: TimeLimit): Promise<CheckedTarget> {
  const { promise, resolve, reject } = Promise.withResolvers<CheckedTarget>();
  limit.onReached((why) => reject(new PostFailure(why)));
  policy.check(url).then(resolve, reject);
  return promise;
}

/** Names share no connection, even at one address: the certificate was checked for one of them. */
function endpointsOf({ url, host, addresses }: CheckedTarget): Endpoint[] {
  const { protocol } = url;
  const tlsHost = protocol === "https:" ? host : undefined;
  const port = Number(url.port) || (tlsHost === undefined ? 80 : 443);
  return addresses.map((address) => ({ key: `${protocol}${host}:${port}>${address}`, address, port, tlsHost }));
}

function messageOf(url: URL, { headers, body, ignoresSuccessBody = false }: PostRequest): Message {
  const list = ["Host", url.host];
  for (const name in headers) {
    const value = headers[name]!;
    if (/[^\t\x20-\x7e]/.test(value)) {
      throw new TypeError(`the header ${name} must have printable ASCII characters only`);
    }
    list.push(name, value);
  }
  // Uncompressed: a small gzip can hold a lot.
  list.push("Accept", "*/*", "Accept-Encoding", "identity", "Content-Length", String(Buffer.byteLength(body)));
  return { path: url.pathname + url.search, headers: list, body, ignoresSuccessBody };
}

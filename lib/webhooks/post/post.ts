import { Buffer } from "node:buffer";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { GatewayError } from "../../errors.ts";
import {
  type Connection,
  type ConnectionRequestArgs,
  Connections,
  type Endpoint,
  PostFailure,
  socketFailure,
} from "./connections.ts";
import { createDeadlines, type TimeLimit } from "./deadlines.ts";
import { printable } from "./printable.ts";
import type { TargetPolicy, VettedTarget } from "../targets/policy.ts";

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
/** Status lines and headers, of interim answers too. */
const MAX_HEAD_BYTES = 16 * 1024;
/** A longer body is cut there: what matters has been said. */
const MAX_BODY_BYTES = 64 * 1024;
/** With all headers, what frames chunks, and trailers: what one byte of body may cost is bounded, too. */
const MAX_ANSWER_BYTES = 2 * MAX_BODY_BYTES;
/** How much of a body is kept. */
const MAX_KEPT_BYTES = 1024;

const CLOSED = "connection closed before the end of the answer";
const HEAD_TOO_LONG = `the headers of the answer are longer than ${MAX_HEAD_BYTES / 1024} KiB`;

/**
 * Posts to targets that their owners chose, and trusts them with nothing: the address is vetted at each attempt and
 * connected to as it was vetted, no redirect is followed, no proxy is used, nothing is expanded, everything is bounded.
 */
export function createPoster({ policy, now, ca, maxIdle = 512, idleMs = 15_000 }: PosterOptions): Poster {
  const connections = new Connections({ maxIdle, idleMs, ca });
  const deadlines = createDeadlines();

  /** A new connection to the first of the vetted addresses that can be connected to. */
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
    const target = await vetted(policy, request.url, limit);
    const endpoints = endpointsOf(target);
    const message = messageOf(target.url, request);
    const waiting = connections.take(endpoints);
    if (waiting !== undefined) {
      const { result, wasStale } = await exchange(connections, waiting, message, limit);
      // Closed while it waited, most likely unread: a fresh one will tell. At worst it is delivered twice.
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
        limit.clear();
      }
      result.durationMs = now() - startedAtMs;
      return result;
    },
    close: () => connections.close(),
  };
}

/** The look-up can't be stopped, only left behind; it has a bound of its own. */
function vetted(policy: PosterOptions["policy"], url: string, limit: TimeLimit): Promise<VettedTarget> {
  const { promise, resolve, reject } = Promise.withResolvers<VettedTarget>();
  limit.onReached((why) => reject(new PostFailure(why)));
  policy.check(url).then(resolve, reject);
  return promise;
}

/** Nothing is shared between names, even at one address: the certificate was checked for one of them. */
function endpointsOf({ url, host, addresses }: VettedTarget): Endpoint[] {
  const { protocol } = url;
  const tlsHost = protocol === "https:" ? host : undefined;
  const port = Number(url.port) || (tlsHost === undefined ? 80 : 443);
  return addresses.map((address) => ({ key: `${protocol}${host}:${port}>${address}`, address, port, tlsHost }));
}

/** What goes over the wire. */
interface Message {
  path: string;
  /** Names and values in turn: this way `node:http` adds none of its own. */
  headers: string[];
  body: string;
}

function messageOf(url: URL, { headers, body }: PostRequest): Message {
  const list = ["Host", url.host];
  for (const name in headers) {
    const value = headers[name]!;
    if (/[^\t\x20-\x7e]/.test(value)) throw new TypeError(`the header ${name} has a character that no header may have`);
    list.push(name, value);
  }
  // Not compressed: a little gzip can hold a lot.
  list.push("Accept", "*/*", "Accept-Encoding", "identity", "Content-Length", String(Buffer.byteLength(body)));
  return { path: url.pathname + url.search, headers: list, body };
}

interface Exchanged {
  result: PostResult;
  /** Nothing of an answer came over a connection that had served before. */
  wasStale: boolean;
}

/** Makes one request over one connection, which waits for another one when the answer came in full. */
function exchange(
  connections: Connections,
  connection: Connection,
  { path, headers, body }: Message,
  limit: TimeLimit,
): Promise<Exchanged> {
  const { promise, resolve } = Promise.withResolvers<Exchanged>();
  const { endpoint: { address }, hasServed } = connection;
  let response: IncomingMessage | undefined;
  let receivedBytes = 0;
  let bodyBytes = 0;
  const kept: Uint8Array[] = [];

  const current: NonNullable<Connection["exchange"]> = {
    onBytes(count) {
      receivedBytes += count;
      // Looked at once all of it was parsed.
      if (receivedBytes > MAX_HEAD_BYTES) setImmediate(onMuch);
    },
    onClose() {
      // The end of the connection may be the end of the body, which the parser learns next.
      setImmediate(end, CLOSED);
    },
  };
  function onMuch(): void {
    if (response === undefined) breakOff(HEAD_TOO_LONG);
    else if (receivedBytes > MAX_ANSWER_BYTES) breakOff();
  }
  /** The first to say so decides; without a failure the answer is full. */
  function end(failure?: string): void {
    if (connection.exchange !== current) return;
    connection.exchange = undefined;
    const result = response === undefined
      ? { responseBody: "", durationMs: 0, address }
      : resultOf(response, kept, address);
    if (failure !== undefined) result.error = failure;
    resolve({ result, wasStale: failure !== undefined && hasServed && receivedBytes === 0 });
  }
  function breakOff(failure?: string): void {
    end(failure);
    sent.destroy();
  }

  connection.exchange = current;
  limit.onReached(breakOff);
  const args: ConnectionRequestArgs = {
    agent: connections,
    connection,
    host: address,
    method: "POST",
    path,
    headers,
    setDefaultHeaders: false,
    maxHeaderSize: MAX_HEAD_BYTES,
  };
  const sent = httpRequest(args);
  sent.on("response", (answer: IncomingMessage) => {
    response = answer;
    answer.on("data", (piece: Uint8Array) => {
      if (bodyBytes < MAX_KEPT_BYTES) kept.push(piece.subarray(0, MAX_KEPT_BYTES - bodyBytes));
      bodyBytes += piece.length;
      if (bodyBytes > MAX_BODY_BYTES) breakOff();
    });
    answer.on("end", end);
  });
  sent.on("error", (error) => {
    // When the answer is complete, what is wrong came behind it.
    if (!response?.complete) end(answerWords(error, response !== undefined));
  });
  sent.end(body);
  return promise;
}

/** What was wrong with an answer (llhttp's codes, the same on both runtimes), or with the connection. */
function answerWords(error: NodeJS.ErrnoException, hasHead: boolean): string {
  const code = error.code ?? "";
  if (error.message === "socket hang up") return CLOSED;
  if (!code.startsWith("HPE_")) return socketFailure(error).message;
  if (hasHead) return "the answer has a malformed chunk";
  if (code === "HPE_HEADER_OVERFLOW") return HEAD_TOO_LONG;
  if (/CONTENT_LENGTH|TRANSFER_ENCODING/.test(code)) return "the answer has a malformed length";
  return /CONSTANT|VERSION|STATUS/.test(code) ? "the answer is not HTTP/1.1" : "the answer has a malformed header";
}

function resultOf({ statusCode, rawHeaders }: IncomingMessage, kept: Uint8Array[], address: string): PostResult {
  const result: PostResult = { statusCode, responseBody: "", durationMs: 0, address };
  let isPlain = true;
  // Not `headers`, which is made anew of all of them.
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!.toLowerCase();
    if (name === "retry-after") result.retryAfter ??= rawHeaders[at + 1]!.slice(0, 64);
    else if (name === "content-encoding") isPlain &&= rawHeaders[at + 1]!.toLowerCase() === "identity";
  }
  if (isPlain) result.responseBody = printable(kept.length === 1 ? kept[0]! : Buffer.concat(kept), MAX_KEPT_BYTES);
  return result;
}

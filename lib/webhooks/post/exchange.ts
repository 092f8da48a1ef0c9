import { Buffer } from "node:buffer";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { setImmediate } from "node:timers";
import {
  type Connection,
  type ConnectionRequestArgs,
  type Connections,
  type Exchange,
  socketFailure,
} from "./connections.ts";
import type { TimeLimit } from "./deadlines.ts";

/** What goes over the wire. */
export interface Message {
  path: string;
  /** Names and values in turn: this way `node:http` adds none of its own. */
  headers: string[];
  body: string;
  /** Of an answer that is no failure the body is not looked at. */
  ignoresSuccessBody: boolean;
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

/** Status lines and headers, of interim answers too. */
const MAX_HEAD_BYTES = 16 * 1024;
/** A longer body is cut there: what matters has been said. */
const MAX_BODY_BYTES = 64 * 1024;
/** With all headers, what frames chunks, and trailers: what one byte of body may cost is bounded, too. */
const MAX_ANSWER_BYTES = 2 * MAX_BODY_BYTES;
/** How much of a body is kept. */
const MAX_KEPT_BYTES = 1024;

const CLOSED = "connection closed before the end of the answer";
const NOT_HTTP = "the answer is not HTTP/1.1";
const HEAD_TOO_LONG = `the headers of the answer are longer than ${MAX_HEAD_BYTES / 1024} KiB`;

export interface Exchanged {
  result: PostResult;
  /** Nothing of an answer came over a connection that had served before. */
  wasStale: boolean;
}

/** Makes one request over one connection, which waits for another one when the answer came in full. */
export function exchange(
  connections: Connections,
  connection: Connection,
  { path, headers, body, ignoresSuccessBody }: Message,
  limit: TimeLimit,
): Promise<Exchanged> {
  const { promise, resolve } = Promise.withResolvers<Exchanged>();
  const { endpoint: { address }, hasServed } = connection;
  if (limit.reached !== undefined) {
    // Whoever has stood still does not send it now: another may have, with what comes after it.
    connection.socket.destroy();
    const result: PostResult = { error: limit.reached, responseBody: "", durationMs: 0, address };
    return Promise.resolve({ result, wasStale: false });
  }
  let response: IncomingMessage | undefined;
  let receivedBytes = 0;
  let bodyBytes = 0;
  let mostBytes = MAX_ANSWER_BYTES;
  const kept: Uint8Array[] = [];

  const current: Exchange = {
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
    else if (receivedBytes > mostBytes) breakOff();
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
    // The parser lets 000 to 099 pass.
    if (answer.statusCode! < 100) return breakOff(NOT_HTTP);
    response = answer;
    if (ignoresSuccessBody && answer.statusCode! < 300) {
      mostBytes = MAX_BODY_BYTES;
      answer.resume();
    } else {
      answer.on("data", (piece: Uint8Array) => {
        if (bodyBytes < MAX_KEPT_BYTES) kept.push(piece.subarray(0, MAX_KEPT_BYTES - bodyBytes));
        bodyBytes += piece.length;
        if (bodyBytes > MAX_BODY_BYTES) breakOff();
      });
    }
    answer.on("end", () => {
      end();
      // A request that is still being sent would run into the next one, or never end.
      if (connection.socket.writableLength > 0) sent.destroy();
    });
  });
  sent.on("error", (error) => {
    // When the answer is complete, what is wrong came behind it.
    if (!response?.complete) end(answerWords(error, response !== undefined));
  });
  sent.end(body);
  limit.onReached(breakOff);
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
  return /CONSTANT|VERSION|STATUS/.test(code) ? NOT_HTTP : "the answer has a malformed header";
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

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/**
 * What a stranger's bytes say, as text that is safe to store, log and show on a terminal: at most `maxBytes` of UTF-8,
 * without control characters other than tab and line feed, and without what turns the direction of text.
 */
function printable(bytes: Uint8Array, maxBytes: number): string {
  const decoded = decoder.decode(bytes);
  if (bytes.length <= maxBytes && /^[\t\n\x20-\x7e]*$/.test(decoded)) return decoded;
  const text = decoded
    // Half a character at the end, where it was cut.
    .replace(/\ufffd{1,3}$/, "")
    .replace(/(?![\t\n])[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, "");
  const { read } = encoder.encodeInto(text, new Uint8Array(maxBytes));
  return text.slice(0, read);
}

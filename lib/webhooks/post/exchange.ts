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
import { CONTROLS } from "../../visible_text.ts";
import type { TimeLimit } from "./deadlines.ts";

/** The request to send. */
export interface Message {
  path: string;
  /** Names and values alternate: in this form `node:http` adds no header. */
  headers: string[];
  body: string;
  /** Skip the body of a successful answer. */
  ignoresSuccessBody: boolean;
}

/** The result of one POST: an answer, or why there was no complete one. */
export interface PostResult {
  /** Absent without an answer. */
  statusCode?: number;
  /**
   * Short text for an operator: why there was no answer or, with a `statusCode`, why it is incomplete. An answer that
   * was cut because of its length counts as complete.
   */
  error?: string;
  /** The `Retry-After` header as received. */
  retryAfter?: string;
  /** The beginning of the answer's body as printable text, at most 1 KiB; may be empty. */
  responseBody: string;
  durationMs: number;
  /** The address of the connection; absent without one. */
  address?: string;
}

/** Status lines and headers, of interim answers too. */
const MAX_HEAD_BYTES = 16 * 1024;
/** A longer body is cut here. */
const MAX_BODY_BYTES = 64 * 1024;
/** With headers, chunk framing and trailers. This limits the cost of a byte of body, too. */
const MAX_ANSWER_BYTES = 2 * MAX_BODY_BYTES;
/** How much of a body is stored. */
const MAX_KEPT_BYTES = 1024;

const CLOSED = "connection closed before the end of the answer";
const NOT_HTTP = "the answer is not HTTP/1.1";
const HEAD_TOO_LONG = `the headers of the answer are longer than ${MAX_HEAD_BYTES / 1024} KiB`;

export interface Exchanged {
  result: PostResult;
  /** No byte of an answer arrived over a reused connection. */
  wasStale: boolean;
}

/** Makes one request over one connection. The connection becomes idle when the answer is complete. */
export function exchange(
  connections: Connections,
  connection: Connection,
  { path, headers, body, ignoresSuccessBody }: Message,
  limit: TimeLimit,
): Promise<Exchanged> {
  const { promise, resolve } = Promise.withResolvers<Exchanged>();
  const { endpoint: { address }, hasServed } = connection;
  if (limit.reached !== undefined) {
    // A suspended process does not send it now: another may have sent it, and later events.
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
      // Check after all of it is parsed.
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
  /** The first call decides. Without a failure the answer is complete. */
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
    // The parser accepts 000 to 099.
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
      // The unsent rest of this request would run into the next one, or never end.
      if (connection.socket.writableLength > 0) sent.destroy();
    });
  });
  sent.on("error", (error) => {
    // After a complete answer an error concerns the bytes behind it.
    if (!response?.complete) end(answerProblem(error, response !== undefined));
  });
  sent.end(body);
  limit.onReached(breakOff);
  return promise;
}

/** The problem with an answer (llhttp's codes, the same on both runtimes), or with the connection. */
function answerProblem(error: NodeJS.ErrnoException, hasHead: boolean): string {
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
  // Not `headers`, which `node:http` builds from all of them.
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
 * Decodes foreign bytes as text that is safe to store, log and show in a terminal. At most `maxBytes` of UTF-8, without
 * controls other than tab and line feed.
 */
function printable(bytes: Uint8Array, maxBytes: number): string {
  const decoded = decoder.decode(bytes);
  if (bytes.length <= maxBytes && /^[\t\n\x20-\x7e]*$/.test(decoded)) return decoded;
  const text = decoded
    // A cut character at the end.
    .replace(/\ufffd{1,3}$/, "")
    .replace(CONTROLS, (character) => "\t\n".includes(character) ? character : "");
  const { read } = encoder.encodeInto(text, new Uint8Array(maxBytes));
  return text.slice(0, read);
}

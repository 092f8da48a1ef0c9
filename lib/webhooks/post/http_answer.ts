import { type BodyReader, chunkedBody, endlessBody, HttpAnswerError, sizedBody } from "./http_body.ts";

/** The answer to a POST, as much as is wanted of it. */
export interface HttpAnswer {
  statusCode: number;
  /** The `Retry-After` header as it came. */
  retryAfter?: string;
  /** The `Content-Encoding` header when there is one: the body is not expanded. */
  contentEncoding?: string;
  /** The beginning of the body, at most `MAX_KEPT_BYTES`. */
  bodyStart: Uint8Array;
  /** Whether the connection may carry another request. */
  isReusable: boolean;
}

/** Status lines and headers, of interim answers too. */
export const MAX_HEAD_BYTES: number = 16 * 1024;

/** Reads one answer from the pieces in which it comes (RFC 9112). */
export interface HttpAnswerReader {
  /**
   * Takes the next piece; the answer once it is there in full, or its body was cut.
   * @throws {HttpAnswerError}
   */
  push(piece: Uint8Array): HttpAnswer | undefined;
  /** The other side has closed: the answer, if that is how it ends. */
  end(): HttpAnswer | undefined;
  /** What is known of an answer that is not there in full; undefined before the end of its headers. */
  soFar(): HttpAnswer | undefined;
}

interface Head {
  statusCode: number;
  retryAfter?: string;
  contentEncoding?: string;
  isPersistent: boolean;
  body: BodyReader;
}

export function createAnswerReader(): HttpAnswerReader {
  let held: Uint8Array = new Uint8Array(0);
  let headBytes = 0;
  let head: Head | undefined;

  /** Up to the first answer that is not an interim one (1xx); undefined while its head is incomplete. */
  function takeHead(piece: Uint8Array): Uint8Array | undefined {
    held = held.length === 0 ? piece : joined(held, piece);
    while (true) {
      const end = endOfHead(held);
      if (headBytes + (end ?? held.length) > MAX_HEAD_BYTES) {
        throw new HttpAnswerError(`the headers of the answer are longer than ${MAX_HEAD_BYTES / 1024} KiB`);
      }
      if (end === undefined) return undefined;
      const found = parseHead(latin1.decode(held.subarray(0, end - 4)));
      held = held.subarray(end);
      headBytes += end;
      if (found === undefined) continue;
      head = found;
      return held;
    }
  }

  function answer(isReusable: boolean): HttpAnswer {
    const { statusCode, retryAfter, contentEncoding, body } = head!;
    return { statusCode, retryAfter, contentEncoding, bodyStart: body.start(), isReusable };
  }

  return {
    push(piece) {
      const rest = head === undefined ? takeHead(piece) : piece;
      if (rest === undefined) return undefined;
      const { body, isPersistent } = head!;
      const state = body.push(rest);
      return state === "more" ? undefined : answer(state === "over" && isPersistent);
    },
    end: () => head?.body.endsWithConnection ? answer(false) : undefined,
    soFar: () => head === undefined ? undefined : answer(false),
  };
}

const latin1 = new TextDecoder("latin1");

/** The position after the empty line, undefined when it has not come yet. */
function endOfHead(bytes: Uint8Array): number | undefined {
  for (let at = bytes.indexOf(13); at !== -1 && at + 3 < bytes.length; at = bytes.indexOf(13, at + 1)) {
    if (bytes[at + 1] === 10 && bytes[at + 2] === 13 && bytes[at + 3] === 10) return at + 4;
  }
  return undefined;
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/;

/** Undefined for an interim answer, which another one follows. */
function parseHead(text: string): Head | undefined {
  const [statusLine, ...lines] = text.split("\r\n");
  const status = STATUS_LINE.exec(statusLine!);
  if (status === null) throw new HttpAnswerError("the answer is not HTTP/1.1");
  const statusCode = Number(status[2]);
  // 101 would be another protocol, which nobody asked for.
  if (statusCode === 101) throw new HttpAnswerError("the answer is not HTTP/1.1");
  if (statusCode < 200) return undefined;
  const headers = parseHeaders(lines);
  return {
    statusCode,
    retryAfter: headers.get("retry-after")?.slice(0, 64),
    contentEncoding: headers.get("content-encoding")?.slice(0, 64),
    isPersistent: status[1] === "1" && !/\bclose\b/i.test(headers.get("connection") ?? ""),
    body: bodyOf(statusCode, headers),
  };
}

/** By lower-case name; what comes twice is joined with a comma. */
function parseHeaders(lines: string[]): Map<string, string> {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon < 1) throw new HttpAnswerError("the answer has a malformed header");
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    const before = headers.get(name);
    headers.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return headers;
}

/** How the body is delimited (RFC 9112 §6.3). */
function bodyOf(statusCode: number, headers: Map<string, string>): BodyReader {
  if (statusCode === 204 || statusCode === 304) return sizedBody(0);
  const coding = headers.get("transfer-encoding");
  const length = headers.get("content-length");
  if (coding !== undefined) {
    // Both at once is how answers are smuggled.
    if (length !== undefined) throw new HttpAnswerError("the answer has two lengths");
    return coding.toLowerCase() === "chunked" ? chunkedBody() : endlessBody();
  }
  if (length === undefined) return endlessBody();
  const [size, ...others] = length.split(/, */);
  if (!/^\d{1,15}$/.test(size!) || others.some((other) => other !== size)) {
    throw new HttpAnswerError("the answer has a malformed length");
  }
  return sizedBody(Number(size));
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

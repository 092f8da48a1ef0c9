/** What came is no HTTP/1.1, or has more headers than are read. */
export class HttpAnswerError extends Error {
  override name = "HttpAnswerError";
}

/** A longer body is cut there: what matters has been said. */
export const MAX_BODY_BYTES: number = 64 * 1024;
/** How much of a body is kept. */
export const MAX_KEPT_BYTES = 1024;
/** How much there may be between chunks and after them. */
const MAX_FRAMING_BYTES = 16 * 1024;

/** `over`: it ended here. `cut`: it goes on, or something follows that does not belong to it; no more is read. */
export type BodyState = "more" | "over" | "cut";

/** Reads the body of an answer, counts it and keeps its beginning. */
export interface BodyReader {
  push(piece: Uint8Array): BodyState;
  /** The beginning, at most `MAX_KEPT_BYTES`. */
  start(): Uint8Array;
  /** Whether the end of the connection is the end of the body. */
  endsWithConnection: boolean;
}

/** Takes pieces of content up to the bound. */
function createKeeper() {
  const kept: Uint8Array[] = [];
  let size = 0;
  return {
    /** False once there is more than is read. */
    add(content: Uint8Array): boolean {
      if (size < MAX_KEPT_BYTES && content.length > 0) kept.push(content.slice(0, MAX_KEPT_BYTES - size));
      size += content.length;
      return size <= MAX_BODY_BYTES;
    },
    start(): Uint8Array {
      const [first] = kept;
      if (kept.length <= 1) return first ?? new Uint8Array(0);
      return Uint8Array.from(kept.flatMap((piece) => [...piece]));
    },
  };
}

/** A body of a known size. */
export function sizedBody(size: number): BodyReader {
  const keeper = createKeeper();
  let missing = size;
  return {
    push(piece) {
      const content = piece.subarray(0, missing);
      missing -= content.length;
      if (!keeper.add(content) || piece.length > content.length) return "cut";
      return missing === 0 ? "over" : "more";
    },
    start: keeper.start,
    endsWithConnection: false,
  };
}

/** A body that ends with the connection. */
export function endlessBody(): BodyReader {
  const keeper = createKeeper();
  return {
    push: (piece) => keeper.add(piece) ? "more" : "cut",
    start: keeper.start,
    endsWithConnection: true,
  };
}

const LINE_FEED = 10;

const malformed = () => new HttpAnswerError("the answer has a malformed chunk");

/** A body in chunks (RFC 9112 §7.1). */
export function chunkedBody(): BodyReader {
  const keeper = createKeeper();
  let expected: "size" | "content" | "end of content" | "trailer" = "size";
  let line = "";
  /** Of the chunk under way. */
  let missing = 0;
  /** Bytes that are no content. */
  let framing = 0;

  /** What the line means, now that it is whole; true when the body is over. */
  function takeLine(): boolean {
    if (!line.endsWith("\r\n")) throw malformed();
    const text = line.slice(0, -2);
    line = "";
    if (expected === "trailer") return text === "";
    if (expected === "end of content") {
      if (text !== "") throw malformed();
      expected = "size";
      return false;
    }
    const size = /^([0-9a-f]{1,8})[ \t]*(?:;|$)/i.exec(text)?.[1];
    if (size === undefined) throw malformed();
    missing = parseInt(size, 16);
    expected = missing === 0 ? "trailer" : "content";
    return false;
  }

  return {
    push(piece) {
      let at = 0;
      while (at < piece.length) {
        if (expected === "content") {
          const content = piece.subarray(at, at + missing);
          at += content.length;
          missing -= content.length;
          if (!keeper.add(content)) return "cut";
          if (missing === 0) expected = "end of content";
          continue;
        }
        const newline = piece.indexOf(LINE_FEED, at);
        const lineEnd = newline === -1 ? piece.length : newline + 1;
        framing += lineEnd - at;
        if (framing > MAX_FRAMING_BYTES) return "cut";
        line += String.fromCharCode(...piece.subarray(at, lineEnd));
        at = lineEnd;
        if (newline !== -1 && takeLine()) return at === piece.length ? "over" : "cut";
      }
      return "more";
    },
    start: keeper.start,
    endsWithConnection: false,
  };
}

import { Buffer } from "node:buffer";
import { connect } from "node:net";

/** One request as bytes, without a `Connection` header. */
export interface RawRequest {
  method: string;
  /** From the request line to the end of the body. */
  bytes: Uint8Array;
}

export interface RawAnswer {
  status: number;
  headers: Map<string, string>;
  body: string;
}

/**
 * Sends requests in turn over one connection, without waiting, and returns the answers that arrived before the other
 * side closed it. The last request should ask for the close. Fewer answers than requests mean an early close.
 */
export async function pipeline(port: number, requests: RawRequest[]): Promise<RawAnswer[]> {
  const socket = connect(port, "127.0.0.1");
  const parts: Buffer[] = [];
  socket.on("data", (part) => parts.push(part as Buffer));
  socket.on("error", () => {});
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.write(Buffer.concat(requests.map(({ bytes }) => bytes)));
  socket.setTimeout(30_000, () => socket.destroy());
  await closed;
  return readAnswers(Buffer.concat(parts), requests);
}

/** Splits consecutive answers; an answer to HEAD has no body. */
export function readAnswers(bytes: Buffer, requests: Pick<RawRequest, "method">[]): RawAnswer[] {
  const answers: RawAnswer[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf("\r\n\r\n", at);
    if (end === -1) break;
    const [statusLine = "", ...lines] = bytes.toString("latin1", at, end).split("\r\n");
    const headers = new Map(lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }));
    const status = Number(statusLine.split(" ")[1]);
    at = end + 4;
    if (status === 100) continue;
    const length = requests[answers.length]?.method === "HEAD" ? 0 : Number(headers.get("content-length") ?? 0);
    // This answer is incomplete: the other side closed because of the next request.
    if (at + length > bytes.length) break;
    answers.push({ status, headers, body: bytes.toString("utf8", at, at + length) });
    at += length;
  }
  return answers;
}

import { Buffer } from "node:buffer";
import type { SeededRandom } from "../faults/seeded_random.ts";
import { mutatedBytes } from "./mutations.ts";

/** Requests that are HTTP, of every framing. */
function sound(apiKey: string): string[] {
  const key = `Authorization: Bearer ${apiKey}`;
  const json = "Content-Type: application/json";
  return [
    "GET /v1/health HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /v1/health HTTP/1.0\r\n\r\n",
    "HEAD /v1/health HTTP/1.1\r\nHost: a\r\n\r\n",
    `GET /v1/network?a=1&b=%20 HTTP/1.1\r\nHost: a:80\r\n${key}\r\n\r\n`,
    `GET http://a/v1/network HTTP/1.1\r\nHost: a\r\nX-API-Key: ${apiKey}\r\nX-Request-Id: abc\r\n\r\n`,
    `POST /v1/payments/check HTTP/1.1\r\nHost: a\r\n${key}\r\n${json}\r\nContent-Length: 13\r\n\r\n{"amount":"1"}`,
    `POST /v1/payments/check HTTP/1.1\r\nHost: a\r\n${key}\r\n${json}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"a":\r\n2;x=y\r\n1}\r\n0\r\nX-Trailer: a\r\n\r\n`,
    `POST /v1/payments/check HTTP/1.1\r\nHost: a\r\n${key}\r\n${json}\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}`,
    `DELETE /v1/webhooks/wh_a HTTP/1.1\r\nHost: [::1]\r\n${key}\r\n\r\n`,
    "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
    "OPTIONS /v1/network HTTP/1.1\r\nHost: a\r\nOrigin: https://app.example\r\nAccess-Control-Request-Method: GET\r\n\r\n",
    "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n",
    "GET /v1/health HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
    "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
  ];
}

const LINE_ENDS = ["\n", "\r", "\r\n\r\n", " \r\n", "\0\r\n", "\r\n ", "\r\n\t", "\u000b\r\n"];
const HEADERS = [
  "Host: b",
  "Host: a/v1/network#",
  "Content-Length: 5",
  "Content-Length: 5, 5",
  "Content-Length: -5",
  "Content-Length: +5",
  "Content-Length: 0x5",
  "Content-Length: 99999999999999999999",
  "Transfer-Encoding: chunked",
  "Transfer-Encoding: gzip, chunked",
  "Transfer-Encoding : chunked",
  "Transfer-Encoding: \x0bchunked",
  "Connection: close, x-api-key",
  "Expect: 200-ok",
  "X: \xff\xfe\x80",
  ": empty",
  "no colon",
  "Authorization: Bearer a\rb",
  'X-Forwarded-For: "><script>',
  `X-Long: ${"a".repeat(9_000)}`,
  `Cookie: ${"a=b; ".repeat(3_000)}`,
];
const TARGETS = [
  "/v1/../v1/health",
  "/%00",
  "/v1/\x7f",
  "/v1/webhooks/%ff%fe",
  "\\v1\\health",
  "//evil/v1/health",
  "http://",
  "http://a:99999/v1/health",
  "https://[::1/v1/health",
  "?",
  "#",
  "*",
  `/${"a".repeat(7_000)}`,
  `/v1/events?${"a=b&".repeat(2_000)}`,
  "/v1/devices/\u2028",
];
const VERSIONS = ["HTTP/0.9", "HTTP/1.2", "HTTP/2.0", "HTTP/11", "http/1.1", "HTTP/1.1 x", ""];

/** Bytes that are nearly requests. */
export function malformedRequests(random: SeededRandom, apiKey: string): () => Uint8Array {
  const requests = sound(apiKey);

  function nearly(): string {
    const request = random.pick(requests);
    const line = request.indexOf("\r\n");
    const [method = "", target = "", version = ""] = request.slice(0, line).split(" ");
    switch (Math.floor(random.next() * 7)) {
      case 0:
        return request.replace("\r\n", random.pick(LINE_ENDS));
      case 1:
        return request.replace("\r\n", `\r\n${random.pick(HEADERS)}\r\n`);
      case 2:
        return `${method} ${random.pick(TARGETS)} ${version}${request.slice(line)}`;
      case 3:
        return `${method} ${target} ${random.pick(VERSIONS)}${request.slice(line)}`;
      case 4:
        return `${random.pick(["get", "G\0T", "GET\t", " GET", "A".repeat(500), ""])} ${target} ${version}${
          request.slice(line)
        }`;
      case 5:
        return request + random.pick(requests);
      default:
        return request.slice(0, Math.floor(random.next() * request.length));
    }
  }

  return () => {
    const bytes = Uint8Array.from(Buffer.from(random.next() < 0.7 ? nearly() : random.pick(requests), "latin1"));
    return random.next() < 0.5 ? mutatedBytes(bytes, random) : bytes;
  };
}

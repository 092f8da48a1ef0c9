import { Buffer } from "node:buffer";
import type { SeededRandom } from "../faults/seeded_random.ts";
import type { RawRequest } from "./pipeline.ts";

/** Options of odd requests: valid HTTP with odd methods, paths, headers and bodies. */
export interface OddOptions {
  random: SeededRandom;
  /** A valid key; some requests use it. */
  apiKey: string;
}

const PATHS = [
  "/v1/health",
  "/v1/network",
  "/v1/status",
  "/v1/events",
  "/v1/devices/",
  "/v1/wallets/",
  "/v1/merchants/",
  "/v1/webhooks/",
  "/v1/transactions/",
  "/openapi.json",
  "/metrics",
  "/console",
  "/docs",
  "/",
  "/v1/",
  "//",
];
const ENDS = ["", "/policy", "/devices", "/pending", "/deliveries", "/secret", "/", "/..", "/%2e%2e", "?"];
const METHODS = ["GET", "GET", "GET", "GET", "POST", "DELETE", "HEAD", "OPTIONS", "PUT", "PATCH"];
const HOSTS = ["a", "", "a:1", "a:99999999", "a/b", "[::1]:1", "evil@a", "a#", "A.example", "*"];
/** The characters that a client may send unencoded in a request target. */
const TARGET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,;=:@%/%%";

/** Makes one odd request after another. */
export function oddRequests({ random, apiKey }: OddOptions): (isLast: boolean) => RawRequest {
  const text = (length: number) =>
    Array.from({ length }, () => TARGET[Math.floor(random.next() * TARGET.length)]).join("");
  const hex = (length: number) => Array.from({ length }, () => Math.floor(random.next() * 16).toString(16)).join("");
  const chance = (of: number) => random.next() < of;
  const length = () => Math.floor(random.pick([4, 20, 64, 200, 2_000]) * random.next());

  function target(): string {
    const id = chance(0.3) ? hex(64) : chance(0.2) ? `wh_${text(8).replace(/[^0-9A-Za-z]/g, "x")}` : text(length());
    const query = chance(0.3)
      ? `?${Array.from({ length: random.pick([1, 2, 33, 200]) }, () => `${text(3)}=${text(5)}`).join("&")}`
      : "";
    return `${random.pick(PATHS)}${chance(0.7) ? id : ""}${random.pick(ENDS)}${query}`;
  }

  function key(): string {
    if (chance(0.3)) return apiKey;
    return chance(0.5) ? `service_sk_${hex(10)}_${hex(33)}` : text(length());
  }

  function headers(): string[] {
    const lines: string[] = [];
    if (chance(0.5)) {
      lines.push(
        chance(0.7) ? `Authorization: ${random.pick(["Bearer", "Basic", "bearer"])} ${key()}` : `X-API-Key: ${key()}`,
      );
    }
    if (chance(0.5)) lines.push(`X-Request-Id: ${text(random.pick([8, 64, 70]))}`);
    if (chance(0.5)) lines.push(`X-Forwarded-For: ${address()}`);
    if (chance(0.2)) lines.push(`Origin: https://${text(10).replace(/\W/g, "x")}.example`);
    if (chance(0.1)) lines.push(`Access-Control-Request-Method: ${random.pick(METHODS)}`);
    if (chance(0.2)) lines.push(`${text(8).replace(/[^a-z]/gi, "x")}: ${text(length())}`);
    return lines;
  }

  function address(): string {
    const byte = () => Math.floor(random.next() * 256);
    return chance(0.5) ? `${byte()}.${byte()}.${byte()}.${byte()}` : `${hex(4)}:${hex(4)}:${hex(4)}::${hex(4)}`;
  }

  function body(): string {
    return random.pick([
      "{}",
      "[]",
      "{",
      "null",
      "\u0000",
      '{"__proto__":1}',
      `{"xdr":"${text(20)}"}`,
      `{"url":"${text(9)}"}`,
      text(length()),
    ]);
  }

  return function oddRequest(isLast) {
    const method = random.pick(METHODS);
    const host = chance(0.8) ? "gateway.example" : random.pick(HOSTS);
    const lines = [`${method} ${target()} HTTP/1.1`, `Host: ${host}`, ...headers()];
    if (isLast) lines.push("Connection: close");
    const content = ["POST", "PUT", "PATCH", "DELETE"].includes(method) && chance(0.7) ? body() : undefined;
    if (content !== undefined) {
      lines.push(
        `Content-Type: ${
          random.pick(["application/json", "application/json", "text/plain", "application/json; charset=x"])
        }`,
      );
      lines.push(`Content-Length: ${Buffer.byteLength(content)}`);
    } else if (method === "POST") lines.push("Content-Length: 0");
    return { method, bytes: Buffer.from([...lines, "", content ?? ""].join("\r\n")) };
  };
}

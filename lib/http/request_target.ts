/**
 * Path and query of a request, from its request target. A runtime builds `request.url` from the target and the `Host` header,
 * and this header must not decide the path. Deno puts the header before the target unchanged, and Bun omits a missing or
 * wrong one.
 */

import { percentDecoded } from "../percent_encoding.ts";

/** `uri-host [ ":" port ]` (RFC 9110 §7.2), without percent-encoding, which no real host name has. */
const HOST = /^(?:[\w.~-]+|\[[0-9a-f:.]+\])(?::(\d{0,5}))?$/i;

/** The last accepted host: nearly all requests have the same one. */
let lastGood = "";

/** Whether the `Host` header is valid. It may be missing or empty, as in HTTP/1.0, which health checks of proxies use. */
export function hasGoodHost(request: Request): boolean {
  const host = request.headers.get("host");
  if (host === null || host === "" || host === lastGood) return true;
  const found = HOST.exec(host);
  if (found === null || Number(found[1] ?? 0) > 65_535) return false;
  lastGood = host;
  return true;
}

/** Path of a request with a wrong `Host`: no route has it. */
const NO_PATH = "";

/** The path as sent, with its percent-encoding; empty when the `Host` header is wrong. */
export function requestPath(request: Request): string {
  if (!hasGoodHost(request)) return NO_PATH;
  const { url } = request;
  const start = url.startsWith("/") ? 0 : url.indexOf("/", AFTER_SCHEME);
  const end = pathEnd(url);
  if (start === -1 || start > end) return "/";
  return url.slice(start, end);
}

/** The length of the shortest `http://h`. */
const AFTER_SCHEME = 8;

function pathEnd(url: string): number {
  const query = url.indexOf("?");
  const fragment = url.indexOf("#");
  if (query === -1) return fragment === -1 ? url.length : fragment;
  return fragment === -1 ? query : Math.min(query, fragment);
}

/** The query as sent, without its question mark; empty for none. */
export function requestQuery({ url }: Request): string {
  const start = url.indexOf("?");
  if (start === -1) return "";
  const fragment = url.indexOf("#");
  if (fragment === -1) return url.slice(start + 1);
  return fragment < start ? "" : url.slice(start + 1, fragment);
}

/** A message or log line shows at most so many characters of a path. */
const MAX_SHOWN_LENGTH = 200;

/** The path for people and for the log, decoded and cut. The log masks its secrets. */
export function shownPath(request: Request): string {
  const start = requestPath(request).slice(0, MAX_SHOWN_LENGTH);
  return percentDecoded(start) ?? start;
}

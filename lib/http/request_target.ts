/**
 * What a request asks for, read from its request target. A runtime makes `request.url` of the target and the `Host`
 * header, and a header that strangers write must not decide which path is answered: Deno puts it before the target as it
 * is, and Bun leaves it out where it is missing or wrong.
 */

import { percentDecoded } from "../percent_encoding.ts";

/** `uri-host [ ":" port ]` (RFC 9110 §7.2), without percent-encoding, which nobody's name has. */
const HOST = /^(?:[\w.~-]+|\[[0-9a-f:.]+\])(?::(\d{0,5}))?$/i;

/** Nearly all requests have the same one. */
let lastGood = "";

/** Whether the `Host` header is one. It may be missing or empty: HTTP/1.0 has none, and health checks of proxies speak that. */
export function hasGoodHost(request: Request): boolean {
  const host = request.headers.get("host");
  if (host === null || host === "" || host === lastGood) return true;
  const found = HOST.exec(host);
  if (found === null || Number(found[1] ?? 0) > 65_535) return false;
  lastGood = host;
  return true;
}

/** Answered as the path of a request whose `Host` is none: no route has it. */
const NO_PATH = "";

/** The path as it was sent, percent-encoding and all; empty when the `Host` header is none. */
export function requestPath(request: Request): string {
  if (!hasGoodHost(request)) return NO_PATH;
  const { url } = request;
  const start = url.startsWith("/") ? 0 : url.indexOf("/", AFTER_SCHEME);
  const end = pathEnd(url);
  if (start === -1 || start > end) return "/";
  return url.slice(start, end);
}

/** Behind the shortest `http://h`. */
const AFTER_SCHEME = 8;

function pathEnd(url: string): number {
  const query = url.indexOf("?");
  const fragment = url.indexOf("#");
  if (query === -1) return fragment === -1 ? url.length : fragment;
  return fragment === -1 ? query : Math.min(query, fragment);
}

/** The query as it was sent, without its question mark; empty when there is none. */
export function requestQuery({ url }: Request): string {
  const start = url.indexOf("?");
  if (start === -1) return "";
  const fragment = url.indexOf("#");
  if (fragment === -1) return url.slice(start + 1);
  return fragment < start ? "" : url.slice(start + 1, fragment);
}

/** What of a path is shown. */
const MAX_SHOWN_LENGTH = 200;

/** The path for people and for the log, which masks what is secret in it: decoded, and cut. */
export function shownPath(request: Request): string {
  const start = requestPath(request).slice(0, MAX_SHOWN_LENGTH);
  return percentDecoded(start) ?? start;
}

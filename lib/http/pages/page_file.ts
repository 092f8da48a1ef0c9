import { createHash } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";

/** A page for browsers, or a file that a page loads. It is the same for every client and has no data of the deployment. */
export interface PageFile {
  /** Its path, such as `/docs` or `/docs/docs.css`. The ending gives the type; a path without one is HTML. */
  path: string;
  /** Returns its text, or its bytes in gzip. The first request calls it. */
  read(): Promise<string | Uint8Array>;
  /** Its own policy. Without one, a page has `STRICT_POLICY` and another file may do nothing. */
  policy?: string;
}

/** A file as text. An import such as `() => import("./x.css", { with: { type: "text" } })` embeds it on both runtimes. */
export function textFile(path: string, load: () => Promise<{ default: string }>): PageFile {
  return { path, read: async () => (await load()).default };
}

/**
 * The policy of a page (Content Security Policy Level 3). The page runs scripts and styles that are files of this gateway, and
 * calls this gateway. It runs nothing inline, loads nothing from another server, and no other page frames it.
 */
export const STRICT_POLICY: string = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** The policy of a file that a page loads. Opened by itself, the file does nothing. */
const FILE_POLICY = "default-src 'none'; frame-ancestors 'none'";

const TYPES: Record<string, string> = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  json: "application/json",
  md: "text/markdown; charset=utf-8",
  svg: "image/svg+xml",
  txt: "text/plain; charset=utf-8",
};

/** Below this size compression saves less than its header costs. */
const WORTH_COMPRESSING_BYTES = 1_024;

/** A file in the forms that the gateway sends. */
interface Loaded {
  plain: Uint8Array<ArrayBuffer>;
  /** Undefined when compression saves nothing. */
  gzip: Uint8Array<ArrayBuffer> | undefined;
  /** Hash of the content. Both forms share it, and an ending makes their ETags differ (RFC 9110 §8.8.3.3). */
  hash: string;
}

/** Answers requests for one file, and caches the file after the first read. */
export function createPageAnswer(file: PageFile): (request: Request) => Promise<Response> {
  const fixed = headersOf(file);
  let loading: Promise<Loaded> | undefined;
  return async function answerPage({ headers }) {
    loading ??= file.read().then(loaded).catch((cause) => {
      // The next request reads the file again: file descriptors may run out for a moment.
      loading = undefined;
      throw cause;
    });
    const { plain, gzip, hash } = await loading;
    const compressed = gzip !== undefined && takesGzip(headers) ? gzip : undefined;
    const etag = `"${hash}${compressed === undefined ? "" : "-gzip"}"`;
    const own = { ...fixed, etag, ...(gzip === undefined ? {} : { vary: "Accept-Encoding" }) };
    if (isCached(headers.get("if-none-match"), etag)) return new Response(null, { status: 304, headers: own });
    return compressed === undefined
      ? new Response(plain, { headers: own })
      : new Response(compressed, { headers: { ...own, "content-encoding": "gzip" } });
  };
}

/** Redirects from a page's path with a slash at its end to the page, under any prefix that a proxy adds. */
export function leadToPage(file: PageFile): Response {
  const location = `..${file.path.slice(file.path.lastIndexOf("/"))}`;
  return new Response(null, { status: 308, headers: { ...headersOf(file), location } });
}

function headersOf({ path, policy }: PageFile): Record<string, string> {
  const ending = /\.(\w+)$/.exec(path)?.[1] ?? "html";
  const type = TYPES[ending];
  if (type === undefined) throw new TypeError(`${path} has no type`);
  return {
    "content-type": type,
    // The browser revalidates at each use, so that no old script meets a new page after an upgrade.
    "cache-control": "no-cache",
    "content-security-policy": policy ?? (ending === "html" ? STRICT_POLICY : FILE_POLICY),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
  };
}

function loaded(content: string | Uint8Array): Loaded {
  const given = typeof content === "string" ? undefined : new Uint8Array(content);
  const plain = given === undefined ? new TextEncoder().encode(content as string) : new Uint8Array(gunzipSync(given));
  const worth = plain.length >= WORTH_COMPRESSING_BYTES;
  return {
    plain,
    gzip: given ?? (worth ? new Uint8Array(gzipSync(plain, { level: 9 })) : undefined),
    hash: createHash("sha256").update(plain).digest("base64url").slice(0, 22),
  };
}

/** Whether the client accepts gzip (RFC 9110 §12.5.3). */
function takesGzip(headers: Headers): boolean {
  const accepted = headers.get("accept-encoding") ?? "";
  return accepted.split(",").some((one) =>
    /^\s*(gzip|x-gzip|\*)\s*(;\s*q\s*=\s*(1|0?\.\d*[1-9])[\d.]*\s*)?$/i.test(one)
  );
}

/** Whether the browser has this content already (weak comparison, RFC 9110 §13.1.2). */
function isCached(presented: string | null, etag: string): boolean {
  return presented !== null && presented.split(",").some((one) => one.trim().replace(/^W\//, "") === etag);
}

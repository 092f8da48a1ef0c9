import { createHash } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";

/** A file that browsers are served: of a page, or a page itself. The same for everybody, and nothing of the deployment in it. */
export interface PageFile {
  /** Where: `/docs`, `/docs/docs.css`. Its ending says its type, and without one it is HTML. */
  path: string;
  /** Its text, or bytes that gzip has made of it. Read at the first request. */
  read(): Promise<string | Uint8Array>;
  /** What it may do, where that is more than `STRICT_POLICY` says. */
  policy?: string;
}

/** A file as text, from `() => import("./x.css", { with: { type: "text" } })`: embedded on both runtimes. */
export function textFile(path: string, load: () => Promise<{ default: string }>): PageFile {
  return { path, read: async () => (await load()).default };
}

/**
 * What a page may do (Content Security Policy Level 3): run scripts and styles that are files of this gateway, call this
 * gateway, and nothing else. Nothing inline, nothing from elsewhere, in nobody's frame.
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

/** The policy of a file that a page loads: opened by itself it does nothing. */
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

/** Below this, compression saves less than its header costs. */
const WORTH_COMPRESSING_BYTES = 1_024;

/** A file in the forms it is sent in. */
interface Loaded {
  plain: Uint8Array<ArrayBuffer>;
  /** Undefined where it would save nothing. */
  gzip: Uint8Array<ArrayBuffer> | undefined;
  /** Hash of the content, which both forms share: their ETags differ by an ending (RFC 9110 §8.8.3.3). */
  hash: string;
}

/** Answers requests for one file; made once, it keeps what it has read. */
export function createPageAnswer(file: PageFile): (request: Request) => Promise<Response> {
  const lasting = headersOf(file);
  let loading: Promise<Loaded> | undefined;
  return async function answerPage({ headers }) {
    loading ??= file.read().then(loaded).catch((cause) => {
      // It may be read the next time: file descriptors run out for a moment.
      loading = undefined;
      throw cause;
    });
    const { plain, gzip, hash } = await loading;
    const compressed = gzip !== undefined && takesGzip(headers) ? gzip : undefined;
    const etag = `"${hash}${compressed === undefined ? "" : "-gzip"}"`;
    const own = { ...lasting, etag, ...(gzip === undefined ? {} : { vary: "Accept-Encoding" }) };
    if (isCached(headers.get("if-none-match"), etag)) return new Response(null, { status: 304, headers: own });
    return compressed === undefined
      ? new Response(plain, { headers: own })
      : new Response(compressed, { headers: { ...own, "content-encoding": "gzip" } });
  };
}

/** Leads from a page's address with a slash at its end to the page, whatever prefix a proxy puts before both. */
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
    // Asked for again at each use, and answered with 304: after an upgrade no old script meets a new page.
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

/** Whether gzip is among what is accepted (RFC 9110 §12.5.3). */
function takesGzip(headers: Headers): boolean {
  const accepted = headers.get("accept-encoding") ?? "";
  return accepted.split(",").some((one) =>
    /^\s*(gzip|x-gzip|\*)\s*(;\s*q\s*=\s*(1|0?\.\d*[1-9])[\d.]*\s*)?$/i.test(one)
  );
}

/** Whether the browser holds this already (RFC 9110 §13.1.2: compared weakly). */
function isCached(presented: string | null, etag: string): boolean {
  return presented !== null && presented.split(",").some((one) => one.trim().replace(/^W\//, "") === etag);
}

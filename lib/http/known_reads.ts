import { createRecentMap, type RecentMap } from "../bounded_map.ts";
import type { Exchange } from "./exchange.ts";
import { hasGoodHost, requestPath } from "./request_target.ts";

/** What is known of the URL of a read that has been answered: it need not be taken apart and checked again. */
export interface KnownRead {
  path: string;
  params: unknown;
}

const MAX_URLS = 10_000;
/** A longer one is none of a read that is held. */
const MAX_URL_LENGTH = 256;

export function createKnownReads(): RecentMap<KnownRead> {
  return createRecentMap(MAX_URLS);
}

/**
 * The path by which Hono finds the handler (its `getPath`), and what is known of this URL. A read held in memory is asked
 * for again and again: one look-up spares it 0.7 of some 9 µs.
 */
export function routedPath(request: Request, { env: exchange }: { env: Exchange }): string {
  const known = exchange.parts.knownReads.get(request.url);
  if (known === undefined || !hasGoodHost(request)) return requestPath(request);
  exchange.known = known;
  return known.path;
}

/** To be called for answers only: nothing is kept of what was refused. */
export function rememberRead({ request, parts }: Exchange, path: string, params: unknown): void {
  const { url } = request;
  if (url.length <= MAX_URL_LENGTH && !url.includes("?")) parts.knownReads.set(url, { path, params });
}

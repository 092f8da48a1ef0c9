import { createRecentMap } from "../bounded_map.ts";

/** Path and parameters of a URL that a cached read has answered before. */
export interface CachedRequest {
  path: string;
  params: unknown;
}

/** Parsed URLs of cached reads: one look-up replaces parsing and checking. */
export interface ResponseCache {
  get(url: string): CachedRequest | undefined;
  /** Only for successful responses. `params` must be frozen, because many requests share them. */
  remember(url: string, read: CachedRequest): void;
  readonly size: number;
}

const MAX_URLS = 10_000;
/** No cached read has a longer URL. */
const MAX_URL_LENGTH = 256;

/** @param keepPath has the router cache this path */
export function createResponseCache(keepPath: (path: string) => void): ResponseCache {
  const known = createRecentMap<CachedRequest>(MAX_URLS);
  return {
    get: (url) => known.get(url),
    remember(url, read) {
      if (url.length > MAX_URL_LENGTH || url.includes("?")) return;
      known.set(url, read);
      keepPath(read.path);
    },
    get size() {
      return known.size;
    },
  };
}

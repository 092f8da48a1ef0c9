import { createRecentMap } from "../bounded_map.ts";

/** What is known of the URL of a read that has been answered: it need not be taken apart and checked again. */
export interface CachedRequest {
  path: string;
  params: unknown;
}

/** Cached reads are asked for again and again: one look-up spares all that is known of their URL. */
export interface ResponseCache {
  get(url: string): CachedRequest | undefined;
  /** To be called for answers only: nothing is kept of what was refused. Frozen `params`: many requests share them. */
  remember(url: string, read: CachedRequest): void;
  readonly size: number;
}

const MAX_URLS = 10_000;
/** A longer one is none of a cached read. */
const MAX_URL_LENGTH = 256;

/** @param keepPath tells the router that this path comes again */
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

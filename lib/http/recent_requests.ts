import { createRecentMap } from "../bounded_map.ts";
import type { Peer } from "../runtime/serve.ts";
import type { Endpoint, EndpointRequest } from "./endpoint.ts";

/** How many URLs are remembered, and how long one may be: strangers choose them. */
const MAX_URLS = 10_000;
const MAX_URL_LENGTH = 256;

interface Known {
  answer: Endpoint;
  path: string;
  params: Record<string, string>;
}

/** Which endpoint answers the reads that were asked for last. */
export interface RecentRequests {
  /** The answer, from key check to handler like any other; undefined: let the router find the way. */
  answer(request: Request, peer: Peer): Response | Promise<Response> | undefined;
  remember(request: EndpointRequest, answer: Endpoint): void;
}

/**
 * Remembers the way of reads by their URL. A hot read is asked for again and again, and the router costs about a fifth of
 * what it takes to answer one that is held (1.5 of 10 µs on Bun).
 */
export function createRecentRequests(): RecentRequests {
  const recent = createRecentMap<Known>(MAX_URLS);
  return {
    answer(raw, peer) {
      if (raw.method !== "GET") return undefined;
      const known = recent.get(raw.url);
      return known?.answer({ raw, peer, method: "GET", path: known.path, params: known.params });
    },
    remember({ raw: { method, url }, path, params }, answer) {
      if (method === "GET" && url.length <= MAX_URL_LENGTH && !url.includes("?")) {
        recent.set(url, { answer, path, params });
      }
    },
  };
}

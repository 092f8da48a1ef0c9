import type { Verdict } from "./token_bucket.ts";

/** Most cached texts of remainders, and most cached policies. */
const MAX_CACHED = 10_000;

/** The rate-limit headers of a response, lower-case. */
export interface RateLimitHeaders {
  /** The headers of the limit: a shared object, not to be changed. */
  policy(verdict: Verdict): Readonly<Record<string, string>>;
  /** The headers of the rest: a new object at each call, to which the caller adds headers. */
  state(verdict: Verdict): Record<string, string>;
}

/**
 * Makes the rate-limit headers. These are `X-RateLimit-Limit` and `X-RateLimit-Remaining`, and the IETF's `RateLimit-Policy`
 * (`"default";q=120;w=60`) and `RateLimit` (`"default";r=119;t=1`) of draft-ietf-httpapi-ratelimit-headers-11. Within `t`
 * seconds the client can send at most `r` requests, so `t` never exceeds `Retry-After`.
 */
export function createRateLimitHeaders(): RateLimitHeaders {
  const policies = new Map<number, Readonly<Record<string, string>>>();
  const numbers: string[] = [];

  function text(n: number): string {
    return n > MAX_CACHED ? String(n) : (numbers[n] ??= String(n));
  }

  return {
    policy({ limit }) {
      const known = policies.get(limit);
      if (known !== undefined) return known;
      if (policies.size >= MAX_CACHED) policies.clear();
      const made = policyHeaders(limit);
      policies.set(limit, made);
      return made;
    },
    state({ remaining, resetSeconds }) {
      const left = text(remaining);
      return { "x-ratelimit-remaining": left, "ratelimit": `"default";r=${left};t=${resetSeconds}` };
    },
  };
}

function policyHeaders(limit: number): Readonly<Record<string, string>> {
  return Object.freeze({ "x-ratelimit-limit": String(limit), "ratelimit-policy": `"default";q=${limit};w=60` });
}

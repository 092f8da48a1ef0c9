import type { Verdict } from "./token_bucket.ts";

/** Kept for reuse: the texts of remainders up to here, and the policies of so many limits. */
const MAX_KEPT = 10_000;

/** The rate-limit headers of an answer, lower-case. */
export interface RateLimitHeaders {
  /** Those that say the limit: as good as always the same object for the same limit. Not to be changed. */
  policy(verdict: Verdict): Readonly<Record<string, string>>;
  /** Those that say what is left of it. A fresh object at each call: the caller adds its own. */
  state(verdict: Verdict): Record<string, string>;
}

/**
 * Makes the rate-limit headers: `X-RateLimit-Limit` and `X-RateLimit-Remaining`, and the IETF's `RateLimit-Policy` and
 * `RateLimit` (draft-ietf-httpapi-ratelimit-headers-11): `"default";q=120;w=60` and `"default";r=119;t=1`, where `t` is
 * the seconds within which no more than `r` can be had, so never later than `Retry-After`.
 */
export function createRateLimitHeaders(): RateLimitHeaders {
  const policies = new Map<number, Readonly<Record<string, string>>>();
  const numbers: string[] = [];

  function text(n: number): string {
    return n > MAX_KEPT ? String(n) : (numbers[n] ??= String(n));
  }

  return {
    policy({ limit }) {
      const known = policies.get(limit);
      if (known !== undefined) return known;
      if (policies.size >= MAX_KEPT) policies.clear();
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

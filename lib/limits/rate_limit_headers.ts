import type { Verdict } from "./token_bucket.ts";

/** The headers of every answer, lower-case. A fresh object at each call: the caller adds its own. */
export type RateLimitHeaders = Record<string, string>;

/** Texts kept for reuse: those of rates and remainders up to here. */
const MAX_KEPT = 10_000;

/**
 * Makes the rate-limit headers: `X-RateLimit-Limit` and `X-RateLimit-Remaining`, and the IETF's `RateLimit-Policy` and
 * `RateLimit` (draft-ietf-httpapi-ratelimit-headers-11): `"default";q=120;w=60` and `"default";r=119;t=1`, where `t` is
 * the seconds within which no more than `r` can be had, so never later than `Retry-After`.
 */
export function createRateLimitHeaders(): (verdict: Verdict) => RateLimitHeaders {
  const numbers: string[] = [];
  const policies: string[] = [];
  /** For `t=1`, which it is at every rate of 60 and above. */
  const limits: string[] = [];

  function kept(texts: string[], n: number, make: (n: number) => string): string {
    return n > MAX_KEPT ? make(n) : (texts[n] ??= make(n));
  }

  return ({ limit, remaining, resetSeconds }) => ({
    "x-ratelimit-limit": kept(numbers, limit, String),
    "x-ratelimit-remaining": kept(numbers, remaining, String),
    "ratelimit-policy": kept(policies, limit, policyText),
    "ratelimit": resetSeconds === 1 ? kept(limits, remaining, limitText) : limitText(remaining, resetSeconds),
  });
}

function policyText(limit: number): string {
  return `"default";q=${limit};w=60`;
}

function limitText(remaining: number, resetSeconds = 1): string {
  return `"default";r=${remaining};t=${resetSeconds}`;
}

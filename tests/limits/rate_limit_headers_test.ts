import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createRateLimitHeaders } from "../../lib/limits/rate_limit_headers.ts";
import { fullBucket, takeToken } from "../../lib/limits/token_bucket.ts";

const NOW = Date.parse("2026-03-01T12:00:00.000Z");

describe("the rate-limit headers", () => {
  test("say limit and remainder in the common and in the IETF's form", () => {
    const rateLimitHeaders = createRateLimitHeaders();
    assert.deepEqual(rateLimitHeaders(takeToken(fullBucket(120, NOW), NOW)), {
      "x-ratelimit-limit": "120",
      "x-ratelimit-remaining": "119",
      "ratelimit-policy": '"default";q=120;w=60',
      "ratelimit": '"default";r=119;t=1',
    });
  });

  test("are right for every bucket state, however often a text is reused", () => {
    const rateLimitHeaders = createRateLimitHeaders();
    for (const rate of [1, 2, 7, 120, 9_999, 10_000, 10_001, 1_000_000]) {
      const bucket = fullBucket(rate, NOW);
      for (let i = 0; i < 3; i++) {
        const verdict = takeToken(bucket, NOW + i);
        assert.deepEqual(rateLimitHeaders(verdict), {
          "x-ratelimit-limit": `${rate}`,
          "x-ratelimit-remaining": `${verdict.remaining}`,
          "ratelimit-policy": `"default";q=${rate};w=60`,
          "ratelimit": `"default";r=${verdict.remaining};t=${verdict.resetSeconds}`,
        });
      }
    }
  });

  test("are a fresh object each time: an answer adds its own", () => {
    const rateLimitHeaders = createRateLimitHeaders();
    const verdict = takeToken(fullBucket(120, NOW), NOW);
    rateLimitHeaders(verdict)["content-type"] = "application/json";
    assert.equal(rateLimitHeaders(verdict)["content-type"], undefined);
  });

  test("are valid header values", () => {
    const headers = new Headers(createRateLimitHeaders()(takeToken(fullBucket(120, NOW), NOW)));
    assert.equal(headers.get("RateLimit"), '"default";r=119;t=1');
  });
});

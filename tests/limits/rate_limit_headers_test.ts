// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createRateLimitHeaders } from "../../lib/limits/rate_limit_headers.ts";
import { fullBucket, takeToken } from "../../lib/limits/token_bucket.ts";

const NOW = Date.parse("2026-03-01T12:00:00.000Z");

describe("the rate-limit headers", () => {
  test("contain limit and remaining tokens in the common form and in the IETF's form", () => {
    const { policy, state } = createRateLimitHeaders();
    const verdict = takeToken(fullBucket(120, NOW), NOW);
    assert.deepEqual({ ...policy(verdict), ...state(verdict) }, {
      "x-ratelimit-limit": "120",
      "x-ratelimit-remaining": "119",
      "ratelimit-policy": '"default";q=120;w=60',
      "ratelimit": '"default";r=119;t=1',
    });
  });

  test("match every bucket state, also when header texts are reused", () => {
    const { policy, state } = createRateLimitHeaders();
    for (const rate of [1, 2, 7, 120, 9_999, 10_000, 10_001, 1_000_000]) {
      const bucket = fullBucket(rate, NOW);
      for (let i = 0; i < 3; i++) {
        const verdict = takeToken(bucket, NOW + i);
        assert.deepEqual({ ...policy(verdict), ...state(verdict) }, {
          "x-ratelimit-limit": `${rate}`,
          "x-ratelimit-remaining": `${verdict.remaining}`,
          "ratelimit-policy": `"default";q=${rate};w=60`,
          "ratelimit": `"default";r=${verdict.remaining};t=${verdict.resetSeconds}`,
        });
      }
    }
  });

  test("use a new object for each state, to which a response adds headers, and one shared frozen object for the policy", () => {
    const { policy, state } = createRateLimitHeaders();
    const verdict = takeToken(fullBucket(120, NOW), NOW);
    state(verdict)["content-type"] = "application/json";
    assert.equal(state(verdict)["content-type"], undefined);
    assert.equal(policy(verdict), policy(takeToken(fullBucket(120, NOW), NOW)));
    assert.ok(Object.isFrozen(policy(verdict)));
  });

  test("are valid header values", () => {
    const { policy, state } = createRateLimitHeaders();
    const verdict = takeToken(fullBucket(120, NOW), NOW);
    const headers = new Headers({ ...policy(verdict), ...state(verdict) });
    assert.deepEqual([headers.get("RateLimit"), headers.get("RateLimit-Policy")], [
      '"default";r=119;t=1',
      '"default";q=120;w=60',
    ]);
  });
});

// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import {
  bucketWith,
  changeRate,
  fullBucket,
  peekToken,
  takeToken,
  type TokenBucket,
  tokensIn,
} from "../../lib/limits/token_bucket.ts";

const NOW = Date.parse("2026-03-01T12:00:00.000Z");

const rates = fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 1_000_000 }));

/** A bucket in any state it may get into. */
const buckets: fc.Arbitrary<TokenBucket> = fc.tuple(rates, fc.double({ min: 0, max: 1, noNaN: true }))
  .map(([rate, share]) => bucketWith(share * rate, rate, NOW));

/** A bucket with less than one token in it. */
const spentBuckets: fc.Arbitrary<TokenBucket> = fc.tuple(rates, fc.integer({ min: 0, max: 59_999 }))
  .map(([rate, units]) => bucketWith(units / 60_000, rate, NOW));

function takeAll(bucket: TokenBucket, nowMs: number): number {
  let taken = 0;
  while (takeToken(bucket, nowMs).allowed) taken++;
  return taken;
}

describe("a token bucket", () => {
  test("lets through as many as its rate at once, and then one for each part of the minute", () => {
    const bucket = fullBucket(120, NOW);
    assert.deepEqual(takeToken(bucket, NOW), {
      allowed: true,
      limit: 120,
      remaining: 119,
      resetSeconds: 1,
      retryAfterSeconds: 0,
    });
    assert.equal(takeAll(bucket, NOW), 119);
    assert.deepEqual(takeToken(bucket, NOW + 499), {
      allowed: false,
      limit: 120,
      remaining: 0,
      resetSeconds: 1,
      retryAfterSeconds: 1,
    });
    assert.equal(takeAll(bucket, NOW + 500), 1);
    assert.equal(takeAll(bucket, NOW + 1_500), 2);
  });

  test("is full again after a minute, whatever its rate, and never fuller", () => {
    fc.assert(fc.property(buckets, fc.integer({ min: 60_000, max: 10 ** 12 }), (bucket, laterMs) => {
      assert.equal(peekToken(bucket, NOW + laterMs).remaining, bucket.rate);
    }));
  });

  test("says one second at a rate of 120 and a whole minute at a rate of 1", () => {
    const slow = fullBucket(1, NOW);
    takeToken(slow, NOW);
    assert.equal(takeToken(slow, NOW).retryAfterSeconds, 60);
    assert.equal(takeToken(slow, NOW + 1).retryAfterSeconds, 60);
    assert.equal(takeToken(slow, NOW + 59_000).retryAfterSeconds, 1);
    assert.equal(takeToken(slow, NOW + 59_999).retryAfterSeconds, 1);
    assert.equal(takeToken(slow, NOW + 60_000).allowed, true);
  });

  test("lets through no more than capacity and refill in any window", () => {
    const gaps = fc.array(fc.integer({ min: 0, max: 5_000 }), { maxLength: 200 });
    fc.assert(fc.property(fc.integer({ min: 1, max: 300 }), gaps, (rate, waits) => {
      const bucket = fullBucket(rate, NOW);
      let nowMs = NOW;
      const admittedAt: number[] = [];
      for (const waitMs of waits) {
        nowMs += waitMs;
        for (let burst = 0; burst < 5; burst++) if (takeToken(bucket, nowMs).allowed) admittedAt.push(nowMs);
      }
      for (let first = 0; first < admittedAt.length; first += 7) {
        const windowMs = admittedAt.at(-1)! - admittedAt[first]!;
        assert.ok(admittedAt.length - first <= rate + (rate * windowMs) / 60_000);
      }
    }));
  });

  test("loses nothing to rounding: a caller that takes whenever it may gets exactly its rate", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 240 }), fc.integer({ min: 1, max: 97 }), (rate, stepMs) => {
        const bucket = bucketWith(0, rate, NOW);
        let taken = 0;
        for (let ms = 0; ms <= 60_000; ms += stepMs) taken += takeAll(bucket, NOW + ms);
        taken += takeAll(bucket, NOW + 60_000);
        assert.equal(taken, rate);
      }),
      { numRuns: 25 },
    );
  });

  test("lets a caller through who waits exactly Retry-After, and would not a whole second earlier", () => {
    fc.assert(fc.property(spentBuckets, (bucket) => {
      const { allowed, retryAfterSeconds } = takeToken(bucket, NOW);
      assert.equal(allowed, false);
      assert.ok(retryAfterSeconds >= 1);
      assert.equal(peekToken(bucket, NOW + (retryAfterSeconds - 1) * 1_000).allowed, false);
      assert.equal(takeToken(bucket, NOW + retryAfterSeconds * 1_000).allowed, true);
    }));
  });

  test("never says a window that ends after Retry-After", () => {
    fc.assert(fc.property(buckets, (bucket) => {
      const { allowed, resetSeconds, retryAfterSeconds } = peekToken(bucket, NOW);
      assert.ok(resetSeconds >= 1 && resetSeconds <= 60);
      if (!allowed) assert.equal(resetSeconds, retryAfterSeconds);
    }));
  });

  test("is not changed by a look, which says what a take would", () => {
    fc.assert(fc.property(buckets, fc.integer({ min: -5_000, max: 70_000 }), (bucket, laterMs) => {
      const before = { ...bucket };
      const peeked = peekToken(bucket, NOW + laterMs);
      assert.deepEqual(bucket, before);
      const taken = takeToken(bucket, NOW + laterMs);
      assert.equal(taken.allowed, peeked.allowed);
      assert.equal(taken.remaining, peeked.remaining - (peeked.allowed ? 1 : 0));
    }));
  });

  test("gains nothing from a clock set back, and goes on refilling from there", () => {
    fc.assert(fc.property(buckets, fc.integer({ min: 1, max: 10 ** 9 }), (bucket, backMs) => {
      const before = tokensIn(bucket);
      assert.equal(peekToken(bucket, NOW - backMs).remaining, Math.floor(before));
      takeToken(bucket, NOW - backMs);
      assert.ok(tokensIn(bucket) <= before);
      assert.equal(peekToken(bucket, NOW - backMs + 60_000).remaining, bucket.rate);
    }));
  });

  test("keeps how full it is when its rate changes", () => {
    const bucket = fullBucket(120, NOW);
    for (let i = 0; i < 60; i++) takeToken(bucket, NOW);
    changeRate(bucket, 600, NOW);
    assert.deepEqual(peekToken(bucket, NOW), {
      allowed: true,
      limit: 600,
      remaining: 300,
      resetSeconds: 1,
      retryAfterSeconds: 0,
    });
    changeRate(bucket, 10, NOW);
    assert.equal(peekToken(bucket, NOW).remaining, 5);
    assert.equal(peekToken(bucket, NOW + 60_000).remaining, 10);
  });

  test("never holds more than its new capacity, and stays full when it was", () => {
    fc.assert(fc.property(buckets, rates, (bucket, rate) => {
      const wasFull = tokensIn(bucket) === bucket.rate;
      changeRate(bucket, rate, NOW);
      assert.ok(tokensIn(bucket) <= rate);
      if (wasFull) assert.equal(tokensIn(bucket), rate);
    }));
  });

  test("comes back from its tokens as they are kept at rest", () => {
    fc.assert(fc.property(buckets, fc.integer({ min: 0, max: 59_999 }), (bucket, laterMs) => {
      takeToken(bucket, NOW + laterMs);
      assert.deepEqual(bucketWith(tokensIn(bucket), bucket.rate, bucket.updatedAtMs), bucket);
    }));
  });

  test("is never fuller than its rate allows, whatever was kept", () => {
    assert.equal(tokensIn(bucketWith(500, 120, NOW)), 120);
    assert.equal(tokensIn(bucketWith(-3, 120, NOW)), 0);
  });
});

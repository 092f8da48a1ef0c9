// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { type LeasedBucket, leaseTokens, waitMsFor } from "../../lib/limits/leased_bucket.ts";

const NOW = Date.parse("2026-03-01T12:00:00.000Z");
const rates = fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 1_000_000 }));
const ASKER = { holder: "asker", unspent: 0, ahead: 0 };

/** A bucket after several holders took tokens: some spent theirs, some still have a lease. */
const buckets: fc.Arbitrary<LeasedBucket> = fc.tuple(
  rates,
  fc.array(fc.record({ share: fc.double({ min: 0, max: 1, noNaN: true }), passMs: fc.nat(4_000) }), { maxLength: 6 }),
).map(([rate, holders]) => {
  let bucket: LeasedBucket | undefined;
  let nowMs = NOW;
  for (const [at, { share, passMs }] of holders.entries()) {
    const request = { holder: `h${at}`, rate, unspent: 0, costs: [Math.ceil(share * rate)], ahead: rate };
    bucket = leaseTokens(bucket, request, nowMs).bucket;
    nowMs += passMs;
  }
  return bucket ?? leaseTokens(undefined, { ...ASKER, rate, costs: [] }, NOW).bucket;
});

const unitsIn = ({ units, leases }: LeasedBucket) => leases.reduce((sum, lease) => sum + lease.units, units);

describe("a bucket that tokens are leased from", () => {
  test("never holds more than its capacity, leased tokens included", () => {
    fc.assert(fc.property(buckets, fc.nat(100_000), fc.integer({ min: 1, max: 20 }), (bucket, laterMs, cost) => {
      const { rate } = bucket;
      const after = leaseTokens(bucket, { ...ASKER, rate, costs: [cost], ahead: rate }, bucket.updatedAtMs + laterMs);
      assert.ok(unitsIn(after.bucket) <= rate * 60_000);
      assert.ok(after.bucket.units >= 0 && after.leased <= rate / 10);
      assert.ok(after.bucket.leases.every(({ untilMs }) => untilMs > bucket.updatedAtMs + laterMs));
    }));
  });

  test("can pay a request exactly after the wait that waitMsFor returns, and not a millisecond earlier", () => {
    fc.assert(fc.property(buckets, fc.integer({ min: 1, max: 20 }), fc.nat(10_000), (bucket, cost, laterMs) => {
      const { rate, updatedAtMs } = bucket;
      const nowMs = updatedAtMs + laterMs;
      const isPaidAt = (atMs: number) => leaseTokens(bucket, { ...ASKER, rate, costs: [cost] }, atMs).paid[0];
      const waitMs = waitMsFor(bucket, cost, nowMs);
      assert.equal(isPaidAt(nowMs + waitMs), true);
      if (waitMs > 0) assert.equal(isPaidAt(nowMs + waitMs - 1), false);
    }));
  });

  test("takes back a holder's unspent tokens, but none from an expired lease or another holder", () => {
    const rate = 100;
    const leased = leaseTokens(undefined, { holder: "a", rate, unspent: 0, costs: [1], ahead: 10 }, NOW);
    assert.deepEqual([leased.paid, leased.leased], [[true], 10]);
    const giveBack = (holder: string, atMs: number) =>
      leaseTokens(leased.bucket, { holder, rate, unspent: 10, costs: [], ahead: 0 }, atMs).bucket.units / 60_000;
    assert.equal(giveBack("a", NOW), 99);
    assert.equal(giveBack("b", NOW), 89);
    assert.equal(giveBack("a", NOW + 7_999), 100);
    assert.equal(giveBack("a", NOW + 8_000), 90);
  });

  test("makes a caller wait at most 1 s after a clock that was a day ahead is corrected", () => {
    const rate = 60;
    const spent = leaseTokens(undefined, { ...ASKER, rate, costs: [60] }, NOW + 86_400_000).bucket;
    assert.ok(waitMsFor(leaseTokens(spent, { ...ASKER, rate, costs: [] }, NOW).bucket, 1, NOW) <= 1_000);
  });
});

// needs: neutral
import { strict as assert } from "node:assert";
import { describe, test } from "node:test";
import { feeDistribution } from "../../../lib/sandbox/rpc/fee_stats.ts";

describe("a fee distribution", () => {
  test("is all zero without fees", () => {
    const { ledgerCount, ...fees } = feeDistribution([], 10);
    assert.equal(ledgerCount, 0);
    assert.deepEqual(new Set(Object.values(fees)), new Set(["0"]));
  });

  test("has nearest-rank percentiles, the smallest of the most frequent fees as mode, and counts", () => {
    const fees = Array.from({ length: 100 }, (_, i) => BigInt(i + 1));
    assert.deepEqual(feeDistribution([...fees.reverse(), 7n, 40n], 12), {
      max: "100",
      min: "1",
      mode: "7",
      p10: "10",
      p20: "20",
      p30: "30",
      p40: "40",
      p50: "49",
      p60: "60",
      p70: "70",
      p80: "80",
      p90: "90",
      p95: "95",
      p99: "99",
      transactionCount: "102",
      ledgerCount: 12,
    });
  });

  test("of one fee has that fee in all fields", () => {
    const { ledgerCount, transactionCount, ...fees } = feeDistribution([250n], 3);
    assert.equal(ledgerCount, 3);
    assert.equal(transactionCount, "1");
    assert.deepEqual(new Set(Object.values(fees)), new Set(["250"]));
  });
});

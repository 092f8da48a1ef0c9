// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createInclusionFees } from "../../../lib/stellar/transactions/fees.ts";
import { fakeClock, stubRpc } from "../rpc/stub_rpc.ts";

function fees(p90: (call: number) => string) {
  const clock = fakeClock();
  let calls = 0;
  const problems: string[] = [];
  const rpc = stubRpc({
    getFeeStats() {
      calls += 1;
      const fee = p90(calls);
      if (fee === "down") return Promise.reject(new Error("connection refused"));
      const sorobanInclusionFee = { max: "9", min: "9", mode: "9", p50: "9", p90: fee, p95: "9", p99: "9" };
      return Promise.resolve({ sorobanInclusionFee, inclusionFee: sorobanInclusionFee, latestLedger: 1 });
    },
  });
  const bidder = createInclusionFees({ rpc, clock, onProblem: (message) => problems.push(message) });
  return { bid: bidder.bid, pass: clock.pass, calls: () => calls, problems };
}

describe("the inclusion fee", () => {
  test("follows recent transactions, within bounds", async () => {
    const [least, most] = [100n, 1_000_000n];
    const cases = { 250: 250n, 100: least, 1: least, 0: least, 1000000: most, "99999999999999999999": most };
    for (const [p90, expected] of Object.entries(cases)) assert.equal(await fees(() => p90).bid(), expected, p90);
  });

  test("is read once in five seconds for any number of clients", async () => {
    const { bid, pass, calls } = fees((call) => String(call * 1_000));
    assert.deepEqual(await Promise.all([bid(), bid(), bid()]), [1_000n, 1_000n, 1_000n]);
    pass(5_000);
    assert.equal(await bid(), 1_000n);
    assert.equal(calls(), 1);
    pass(1);
    assert.equal(await bid(), 2_000n);
  });

  test("is the last known one when the node fails, and the minimum at first", async () => {
    const { bid, pass, problems } = fees((call) => call === 2 ? "700" : "down");
    assert.equal(await bid(), 100n);
    pass(5_001);
    assert.equal(await bid(), 700n);
    pass(5_001);
    assert.equal(await bid(), 700n);
    assert.equal(problems.length, 2);
    assert.match(problems[0]!, /fee statistics could not be read: connection refused/);
  });
});

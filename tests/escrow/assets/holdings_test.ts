// needs: neutral
import fc from "fast-check";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  afterMovement,
  type EscrowMovement,
  heldAtMost,
  heldInOthers,
  type Holdings,
  holdingsOf,
  UNKNOWN_ASSET,
} from "../../../lib/escrow/assets/holdings.ts";

const funded = (amount: number, asset?: string) => ({ type: "escrow.funded", asset, amount: `${amount}` });
const paid = (amount: number, asset?: string) => ({ type: "payment.authorized", asset, amount: `${amount}` });
const swept = (amount: number, asset?: string) => ({ type: "escrow.swept", asset, amount: `${amount}` });
const none: Holdings = new Map();
const sum = (holdings: Holdings) => [...holdings.values()].reduce((a, b) => a + b, 0n);
const all = (movements: EscrowMovement[], begin = none) =>
  movements.reduce((holdings, movement) => afterMovement(holdings, movement).holdings, begin);

describe("the balance of an escrow", () => {
  test("of each asset is the sum of its fundings less its withdrawals", () => {
    const holdings = all([funded(900, "U"), funded(1, "X"), paid(300, "U")]);
    assert.deepEqual([...holdings], [["U", 600n], ["X", 1n]]);
    assert.deepEqual(heldInOthers(holdings, "X"), [["U", 600n]]);
    assert.equal(heldAtMost(holdings, "X"), 1n);
  });

  test("falls by a withdrawal in another asset, and returns its amount", () => {
    const { holdings, foreign } = afterMovement(all([funded(900, "U"), funded(1, "X")]), paid(301, "X"));
    assert.deepEqual([[...holdings], foreign], [[["U", 600n]], 300n]);
    assert.deepEqual(afterMovement(holdings, swept(600, "X")), { holdings: none, foreign: 600n });
  });

  test("of an unknown asset makes no movement a bypass movement", () => {
    const before = all([funded(10), funded(5, "X")]);
    assert.deepEqual(afterMovement(before, paid(12, "X")), { holdings: new Map([[UNKNOWN_ASSET, 3n]]), foreign: 0n });
    assert.equal(afterMovement(before, paid(12)).foreign, 0n);
    assert.equal(heldAtMost(before, "X"), 15n);
  });

  test("is computed from the newest movements, back to an empty escrow", () => {
    const log = [funded(7, "U"), paid(7, "U"), funded(5, "X"), paid(2, "X")].reverse();
    assert.deepEqual(holdingsOf(3n, log), new Map([["X", 3n]]));
    assert.deepEqual(holdingsOf(0n, log), none);
  });

  test("from before the log is unknown, or counts as the given asset", () => {
    const log = [paid(2, "X"), funded(5, "X")];
    assert.deepEqual(holdingsOf(103n, log), new Map([[UNKNOWN_ASSET, 100n], ["X", 3n]]));
    assert.deepEqual(holdingsOf(103n, log, "U"), new Map([["U", 100n], ["X", 3n]]));
    assert.equal(holdingsOf(2n, log), undefined, "a log that does not add up has no holdings");
  });

  test("adds up to the contract's balance at each point of a card's life", () => {
    const step = fc.record({
      kind: fc.constantFrom(funded, paid, swept),
      amount: fc.integer({ min: 1, max: 50 }),
      asset: fc.constantFrom("U", "X", undefined),
    });
    fc.assert(fc.property(fc.array(step, { maxLength: 30 }), fc.nat({ max: 30 }), (steps, seen) => {
      let balance = 0;
      const log: EscrowMovement[] = [];
      for (const { kind, amount, asset } of steps) {
        const moved = kind === funded ? amount : kind === swept ? balance : Math.min(amount, balance);
        if (moved === 0) continue;
        balance += kind === funded ? moved : -moved;
        log.unshift(kind(moved, asset));
      }
      assert.deepEqual(holdingsOf(BigInt(balance), log), all(log.toReversed()));
      assert.equal(sum(holdingsOf(BigInt(balance), log.slice(0, seen))!), BigInt(balance));
    }));
  });
});

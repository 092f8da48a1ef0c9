import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createLedgerView } from "../../../lib/stellar/ledger/ledger_view.ts";

describe("the ledger tip", () => {
  test("rises with every newer ledger and tells its listeners once for each", () => {
    const tip = createLedgerView();
    const heard: number[] = [];
    const stop = tip.onChange((sequence) => heard.push(sequence));
    assert.equal(tip.observe(5, 100), "current");
    assert.equal(tip.observe(5, 100), "current");
    assert.equal(tip.observe(6, 105), "current");
    stop();
    tip.observe(7, 110);
    assert.deepEqual(heard, [5, 6]);
    assert.deepEqual([tip.sequence, tip.closeTime, tip.epoch], [7, 110, 0]);
  });

  test("takes an older ledger for a lagging node, with or without its time", () => {
    const tip = createLedgerView({ sequence: 10, closeTime: 100 });
    assert.equal(tip.observe(9, 95), "lagging");
    assert.equal(tip.observe(9, 100), "lagging");
    assert.equal(tip.observe(9), "lagging");
    assert.equal(tip.sequence, 10);
  });

  test("takes an older ledger that closed later for a reset network: a new epoch", () => {
    const tip = createLedgerView({ sequence: 10, closeTime: 100, epoch: 3 });
    assert.equal(tip.observe(2, 200), "reset");
    assert.deepEqual([tip.sequence, tip.closeTime, tip.epoch], [2, 200, 4]);
  });

  test("knows whether its close time is that of its ledger", () => {
    const tip = createLedgerView();
    assert.equal(tip.closeTimeIsExact, false);
    tip.observe(5, 100);
    assert.equal(tip.closeTimeIsExact, true);
    tip.observe(6);
    assert.deepEqual([tip.closeTime, tip.closeTimeIsExact], [100, false]);
    tip.observe(6, 105);
    assert.deepEqual([tip.closeTime, tip.closeTimeIsExact], [105, true]);
  });

  test("does not take a late node for a reset network because the newest ledger came without its time", () => {
    const tip = createLedgerView({ sequence: 10, closeTime: 100 });
    tip.observe(13);
    assert.equal(tip.observe(12, 110), "lagging");
    assert.deepEqual([tip.sequence, tip.epoch], [13, 0]);
  });

  test("does not go back to the network before a reset, whose ledgers are numbered higher but closed earlier", () => {
    const tip = createLedgerView({ sequence: 1_000, closeTime: 100 });
    assert.equal(tip.observe(2, 200), "reset");
    assert.equal(tip.observe(1_001, 105), "lagging");
    assert.equal(tip.observe(3, 205), "current");
    assert.deepEqual([tip.sequence, tip.epoch], [3, 1]);
  });
});

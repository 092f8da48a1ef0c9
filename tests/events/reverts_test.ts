// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { firstState } from "../../lib/events/coverage.ts";
import { createReverts } from "../../lib/events/reverts.ts";
import type { Answer } from "../../lib/stellar/observe.ts";

const { signal } = new AbortController();
const state = { ...firstState(["C"], 1), scannedLedger: 100, settledLedger: 90 };

function stage() {
  const reverts: number[] = [];
  const heads: Answer[] = [];
  const apply = createReverts({
    clock: { networkReverts: () => reverts },
    head: { restart: (ledger) => void heads.push(ledger) },
    rpc: { getLatestLedger: () => Promise.resolve({ id: "", protocolVersion: 28, sequence: 61, closeTime: 7 }) },
  });
  return { reverts, heads, apply };
}

test("several reverts start one new epoch after the lowest ledger", async () => {
  const { reverts, heads, apply } = stage();
  assert.equal(await apply(state, signal), undefined);
  reverts.push(80, 60, 70);
  const next = (await apply(state, signal))!;
  assert.deepEqual([next.epoch, next.scannedLedger, next.settledLedger, next.latestLedger], [1, 60, 60, 61]);
  assert.deepEqual(next.formerEpochs, [{ epoch: 0, fromLedger: 1, toLedger: 100 }]);
  assert.deepEqual(heads, [{ sequence: 61, closeTime: 7 }]);
  assert.equal(await apply(next, signal), undefined);
});

test("a revert is applied again until its commit succeeds", async () => {
  const { reverts, apply } = stage();
  reverts.push(60);
  await apply(state, signal);
  assert.equal((await apply(state, signal))!.epoch, 1);
});

test("a revert to a ledger that the watcher has not passed starts no epoch", async () => {
  const { reverts, heads, apply } = stage();
  reverts.push(100);
  assert.equal(await apply(state, signal), undefined);
  assert.equal(heads.length, 1);
  assert.equal(await apply(state, signal), undefined);
  assert.equal(heads.length, 1);
});

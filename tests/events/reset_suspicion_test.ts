// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createResetCheck } from "../../lib/events/reset_check.ts";
import type { NodesRpcClient } from "../../lib/stellar/rpc/client.ts";
import { createLedgerView } from "../../lib/stellar/ledger/ledger_view.ts";
import type { Store, WatcherState } from "../../lib/store/store.ts";
import { fakeClock } from "../stellar/rpc/stub_rpc.ts";

const LEDGER = { sequence: 1_000, closeTime: 1_800_000_000 };

/** A look at one node that says of each ledger's hash what it is told to. */
function stage() {
  const clock = fakeClock(LEDGER.closeTime * 1_000);
  let hash = "a";
  const rpc = {
    nodes: () => [{ inUse: true, lagSeconds: 0, condition: "well", closeTime: LEDGER.closeTime }],
    getLedgers: ({ startLedger }: { startLedger: number }) =>
      Promise.resolve({ ledgers: [{ sequence: startLedger, hash: hash.repeat(64) }] }),
    getHealth: () => Promise.resolve({ latestLedger: LEDGER.sequence, oldestLedger: 1 }),
  } as unknown as NodesRpcClient;
  const view = createLedgerView({ clock, stored: LEDGER });
  const check = createResetCheck({ rpc, store: {} as Store, view, clock, patienceMs: () => 60_000 });
  const stateOf = (epoch: number) => ({
    epoch,
    scannedLedger: LEDGER.sequence,
    latestLedger: LEDGER.sequence,
    latestLedgerCloseTime: LEDGER.closeTime,
    anchor: { ledger: 900, hash: "a".repeat(64) },
  } as WatcherState);
  return {
    clock,
    async look(epoch: number, says: string) {
      hash = says;
      return (await check.check(stateOf(epoch), new AbortController().signal)).kind;
    },
  };
}

test("what was suspected in an epoch is no first look at the next one, which another gateway has begun", async () => {
  const { clock, look } = stage();
  assert.equal(await look(0, "b"), "doubtful");
  clock.pass(20_000);
  assert.equal(await look(1, "b"), "doubtful");
  assert.equal(await look(1, "a"), "same");
});

test("two wrong hashes with minutes between them, in which nobody looked, are no reset; two within a minute are", async () => {
  const { clock, look } = stage();
  assert.equal(await look(0, "b"), "doubtful");
  clock.pass(300_000);
  assert.equal(await look(0, "b"), "doubtful");
  clock.pass(60_000);
  assert.equal(await look(0, "b"), "reset");
});

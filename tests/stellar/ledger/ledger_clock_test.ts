// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createLedgerClock } from "../../../lib/stellar/ledger/ledger_clock.ts";
import { createLedgerView } from "../../../lib/stellar/ledger/ledger_view.ts";
import { fakeClock, stubRpc } from "../rpc/stub_rpc.ts";

const START = 1_800_000_000;

test("the pace of ledgers is not taken from an answer that is not believed, and is asked for again before long", async () => {
  for (const lie of [{ latestLedgerCloseTime: START + 315_360_000 }, { latestLedger: 900_000 }, { latestLedger: 11 }]) {
    const clock = fakeClock(START * 1_000);
    const view = createLedgerView({ clock, stored: { sequence: 1_000, closeTime: START } });
    const rpc = stubRpc({
      getHealth() {
        const newest = { latestLedger: 1_000, latestLedgerCloseTime: START, ...(rpc.calls.length === 1 ? lie : {}) };
        view.hear({ node: 0, sequence: newest.latestLedger, closeTime: newest.latestLedgerCloseTime });
        const oldest = { oldestLedger: 10, oldestLedgerCloseTime: START - 990 * 6 };
        return Promise.resolve({ status: "healthy", ledgerRetentionWindow: 1_000, ...newest, ...oldest });
      },
    });
    const ledgerClock = createLedgerClock({ rpc, view, clock, ledgerTime: () => START });
    const paces: number[] = [];
    for (const passedMs of [0, 0, 6_000, 60_000]) {
      clock.pass(passedMs);
      paces.push((await ledgerClock.now()).pace);
    }
    assert.deepEqual(paces, [5, 5, 6, 6], JSON.stringify(lie));
    assert.equal(rpc.calls.length, 2);
  }
});

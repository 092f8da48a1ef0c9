// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createLedgerClock } from "../../lib/stellar/ledger_clock.ts";
import { createHead } from "../../lib/stellar/head.ts";
import { fakeClock, stubRpc } from "./rpc/stub_rpc.ts";

const START = 1_800_000_000;

test("the pace ignores an answer of another ledger than the head, and a retry follows soon", async () => {
  for (const lie of [{ latestLedgerCloseTime: START + 315_360_000 }, { latestLedger: 900_000 }, { latestLedger: 11 }]) {
    const clock = fakeClock(START * 1_000);
    const head = createHead({ clock, stored: { sequence: 1_000, closeTime: START } });
    const rpc = stubRpc({
      getHealth() {
        const newest = { latestLedger: 1_000, latestLedgerCloseTime: START, ...(rpc.calls.length === 1 ? lie : {}) };
        head.observe({ node: 0, sequence: newest.latestLedger, closeTime: newest.latestLedgerCloseTime });
        const oldest = { oldestLedger: 10, oldestLedgerCloseTime: START - 990 * 6 };
        return Promise.resolve({ status: "healthy", ledgerRetentionWindow: 1_000, ...newest, ...oldest });
      },
    });
    const entries = { read: () => Promise.resolve({ ledger: 1_000, entries: [undefined] }) };
    const ledgerClock = createLedgerClock({ rpc, head, clock, entries });
    const paces: number[] = [];
    for (const passedMs of [0, 0, 6_000, 60_000]) {
      clock.pass(passedMs);
      paces.push((await ledgerClock.times()).pace);
    }
    assert.deepEqual(paces, [5, 5, 6, 6], JSON.stringify(lie));
    assert.equal(rpc.calls.length, 2);
  }
});

// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createEscrowLog, type EscrowEvent } from "../../../lib/escrow/assets/escrow_log.ts";
import { formatEventId } from "../../../lib/store/event.ts";

const MERCHANT = "GAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAWHF";

test("after the tenth reset a claim of the former epoch hides no later authorisation", async () => {
  const found: [epoch: number, type: string, asset: string][] = [
    [9, "payment.authorized", "X"],
    [9, "payment.claimed", "X"],
    [10, "payment.authorized", "Y"],
  ];
  const events = found.map(([epoch, type, asset], at): EscrowEvent => ({
    sequence: at + 1,
    id: formatEventId({ epoch, ledger: 100 + at, order: 4096, index: 0 }),
    type,
    asset,
    amount: "5",
    ledgerClosedAt: "2026-11-22T00:00:00Z",
  }));
  const log = createEscrowLog({
    log: {
      read: () => Promise.resolve(events.toReversed()),
      reach: () => Promise.resolve({ scannedLedger: 200, completeFromHeight: 0 }),
      catchUp: () => Promise.resolve(),
    },
    clock: { monotonicMs: () => 0, wait: () => Promise.resolve() },
  });
  assert.deepEqual((await log.unclaimed(MERCHANT)).map(({ asset }) => asset), ["Y"]);
});

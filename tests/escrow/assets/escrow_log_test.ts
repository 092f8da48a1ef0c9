// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createEscrowLog } from "../../../lib/escrow/assets/escrow_log.ts";
import { UNKNOWN_ASSET } from "../../../lib/escrow/assets/holdings.ts";
import { GatewayError } from "../../../lib/errors.ts";
import { CONTRACT } from "../../store/samples.ts";
import { logOf } from "../memory_log.ts";

const CARD = "ab".repeat(32);

type Move = [type: string, asset: string | undefined, amount: number];

/** The assets by a log of these events, one a ledger, complete from a ledger on, and what was asked of it. */
function escrowOf(moves: Move[], completeFrom = 0) {
  const asked: number[] = [];
  const state = { scannedLedger: moves.length, looks: 0, nowMs: 0 };
  const gap = { ...GAP, toLedger: completeFrom - 1 };
  const log = logOf(moves.map(([type, asset, amount]) => ({ type, asset, amount: `${amount}`, deviceHash: CARD })), {
    gaps: completeFrom === 0 ? [] : [gap, { ...gap, contractIds: ["another"], toLedger: 900 }],
  });
  const escrow = createEscrowLog({
    events: {
      watcherState() {
        const { scannedLedger } = state;
        return log.watcherState().then((stored) => ({ ...stored!, scannedLedger }));
      },
      read(query) {
        asked.push(query.limit);
        return log.read(query);
      },
    },
    paymentEscrow: CONTRACT,
    catchUp: () => Promise.resolve(void (state.looks += 1)),
    clock: { monotonicMs: () => state.nowMs, wait: (ms) => Promise.resolve(void (state.nowMs += ms)) },
  });
  return { state, asked, escrow };
}

const GAP = { epoch: 0, fromLedger: 1, contractIds: [CONTRACT], detectedAt: "", reason: "pruned" as const };

describe("the assets in an escrow, by the log", () => {
  test("are unknown during a gap, and before the watcher's first commit", async () => {
    const moves: Move[] = [["escrow.funded", "U", 900], ["escrow.funded", "X", 1]];
    assert.deepEqual(await escrowOf(moves).escrow.holdings(CARD, 901n), new Map([["U", 900n], ["X", 1n]]));
    const after = await escrowOf(moves, 2).escrow.holdings(CARD, 901n);
    assert.deepEqual(after, new Map([[UNKNOWN_ASSET, 900n], ["X", 1n]]));
    // The ledger is ahead of the log, or the log misses something: it does not add up.
    assert.deepEqual(await escrowOf(moves).escrow.holdings(CARD, 800n), new Map([[UNKNOWN_ASSET, 800n]]));
    const none = createEscrowLog({
      events: { watcherState: () => Promise.resolve(undefined), read: () => Promise.resolve([]) },
      paymentEscrow: CONTRACT,
      catchUp: () => Promise.resolve(),
      clock: { monotonicMs: () => 0, wait: () => Promise.resolve() },
    });
    assert.deepEqual(await none.holdings(CARD, 5n), new Map([[UNKNOWN_ASSET, 5n]]));
    assert.equal(await none.mayHoldOthers(CARD, "X"), false);
    await none.reaches(9);
  });

  test("of a card with many movements cost two reads, and older movements count as the last asset funded before", async () => {
    const payments = Array.from({ length: 5_000 }, () => ["payment.authorized", "U", 1] as Move);
    const { escrow, asked } = escrowOf([["escrow.funded", "U", 9_000], ...payments]);
    assert.deepEqual(await escrow.holdings(CARD, 4_000n), new Map([["U", 4_000n]]));
    assert.deepEqual(asked, [100, 1]);
  });

  test("a payment reads only the newest fundings", async () => {
    const { escrow, asked } = escrowOf([["escrow.funded", "U", 900], ["escrow.funded", "X", 1], [
      "escrow.funded",
      undefined,
      1,
    ]]);
    assert.equal(await escrow.mayHoldOthers(CARD, "X"), true);
    assert.equal(await escrowOf([["escrow.funded", "X", 1]]).escrow.mayHoldOthers(CARD, "X"), false);
    assert.deepEqual(asked, [20]);
  });
});

describe("waiting for the log", () => {
  test("ends when the log reaches the ledger", async () => {
    const { escrow, state } = escrowOf([["escrow.funded", "U", 900]]);
    await escrow.reaches(1);
    assert.equal(state.looks, 0);
    const waiting = escrow.reaches(2);
    state.scannedLedger = 2;
    await waiting;
    assert.equal(state.looks, 1);
  });

  test("ends with a retryable error when it takes too long", async () => {
    const { escrow } = escrowOf([]);
    await assert.rejects(
      escrow.reaches(7),
      (error) => error instanceof GatewayError && error.code === "upstream_error" && error.retry === "same",
    );
  });
});

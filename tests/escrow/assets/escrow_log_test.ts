// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createEscrowLog, type EscrowEvent, type EventLog } from "../../../lib/escrow/assets/escrow_log.ts";
import { UNKNOWN_ASSET } from "../../../lib/escrow/assets/holdings.ts";
import { GatewayError } from "../../../lib/errors.ts";

const CARD = "ab".repeat(32);

/** A log of these events, one a ledger, complete from a ledger on, and what was asked of it. */
function logOf(moves: [type: string, asset: string | undefined, amount: number][], completeFrom = 0) {
  const events = moves.map(([type, asset, amount], at): EscrowEvent => ({
    sequence: at + 1,
    id: String(at + 1).padStart(30, "0"),
    type,
    asset,
    amount: `${amount}`,
    deviceHash: CARD,
    ledgerClosedAt: "2026-11-22T00:00:00Z",
  }));
  const asked: number[] = [];
  const state = { scannedLedger: moves.length, looks: 0, nowMs: 0 };
  const log: EventLog = {
    reach: () => Promise.resolve({ scannedLedger: state.scannedLedger, completeFromHeight: completeFrom }),
    read({ filter: { types, fromHeight = 0 }, upTo = Infinity, limit }) {
      asked.push(limit);
      const found = events.filter((one) =>
        types.includes(one.type) && one.sequence <= upTo && one.sequence >= fromHeight
      );
      return Promise.resolve(found.reverse().slice(0, limit));
    },
    catchUp: () => Promise.resolve(void (state.looks += 1)),
  };
  const clock = { monotonicMs: () => state.nowMs, wait: (ms: number) => Promise.resolve(void (state.nowMs += ms)) };
  return { state, asked, escrow: createEscrowLog({ log, clock }) };
}

describe("the assets in an escrow, by the log", () => {
  test("are unknown before the end of a gap, and without a log", async () => {
    const moves: Parameters<typeof logOf>[0] = [["escrow.funded", "U", 900], ["escrow.funded", "X", 1]];
    assert.deepEqual(await logOf(moves).escrow.holdings(CARD, 901n), new Map([["U", 900n], ["X", 1n]]));
    const after = await logOf(moves, 2).escrow.holdings(CARD, 901n);
    assert.deepEqual(after, new Map([[UNKNOWN_ASSET, 900n], ["X", 1n]]));
    // The ledger is ahead of the log, or the log misses something: it does not add up.
    assert.deepEqual(await logOf(moves).escrow.holdings(CARD, 800n), new Map([[UNKNOWN_ASSET, 800n]]));
    const clock = { monotonicMs: () => 0, wait: () => Promise.resolve() };
    const none = createEscrowLog({ log: undefined, clock });
    assert.deepEqual(await none.holdings(CARD, 5n), new Map([[UNKNOWN_ASSET, 5n]]));
    assert.equal(await none.mayHoldOthers(CARD, "X"), false);
  });

  test("of a card with many movements cost two reads, and its past counts as the last asset funded before", async () => {
    const payments = Array.from({ length: 5_000 }, () => ["payment.authorized", "U", 1] as [string, string, number]);
    const { escrow, asked } = logOf([["escrow.funded", "U", 9_000], ...payments]);
    assert.deepEqual(await escrow.holdings(CARD, 4_000n), new Map([["U", 4_000n]]));
    assert.deepEqual(asked, [100, 1]);
  });

  test("a payment reads the newest fundings only", async () => {
    const { escrow, asked } = logOf([["escrow.funded", "U", 900], ["escrow.funded", "X", 1], [
      "escrow.funded",
      undefined,
      1,
    ]]);
    assert.equal(await escrow.mayHoldOthers(CARD, "X"), true);
    assert.equal(await logOf([["escrow.funded", "X", 1]]).escrow.mayHoldOthers(CARD, "X"), false);
    assert.deepEqual(asked, [20]);
  });
});

describe("waiting for the log", () => {
  test("ends when the log reaches the ledger", async () => {
    const { escrow, state } = logOf([["escrow.funded", "U", 900]]);
    await escrow.reaches(1);
    assert.equal(state.looks, 0);
    const waiting = escrow.reaches(2);
    state.scannedLedger = 2;
    await waiting;
    assert.equal(state.looks, 1);
  });

  test("ends with a retryable error when it takes too long", async () => {
    const { escrow } = logOf([]);
    await assert.rejects(
      escrow.reaches(7),
      (error) => error instanceof GatewayError && error.code === "upstream_error" && error.retry === "same",
    );
  });
});

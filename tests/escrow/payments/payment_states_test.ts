// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  type Authorisation,
  type Claim,
  type MerchantHistory,
  type PaymentState,
  paymentStates,
} from "../../../lib/escrow/payments/payment_states.ts";

const authorised = (id: string, ledger: number, more: Partial<Authorisation> = {}): Authorisation => {
  return {
    kind: "authorised",
    id,
    ledger,
    at: ledger,
    txHash: `tx of ${id}`,
    amount: 7n,
    endLedger: ledger + 80,
    ...more,
  };
};
const claimed = (id: string, ledger: number, more: Partial<Claim> = {}): Claim => {
  return { kind: "claimed", id, ledger, txHash: `tx of ${id}`, amount: 7n, ...more };
};
const gap = (fromLedger: number, toLedger: number) => ({ fromLedger, toLedger });

/** The states by id; a claimed payment by the id of its claim, an ended one by its ledger. */
function told(events: MerchantHistory["events"], history: Partial<MerchantHistory> = {}): Record<string, string> {
  const states = paymentStates({ events, gaps: [], settledLedger: 1_000, isFormer: false, ...history });
  const text = (one: PaymentState) =>
    one.state === "claimed" ? one.claimId : one.state === "ended" ? `ended ${one.ledger}` : one.state;
  return Object.fromEntries([...states].map(([id, state]) => [id, text(state)]));
}

describe("the state of a payment", () => {
  test("is pending until a claim takes its entry", () => {
    assert.deepEqual(told([authorised("P", 100, { slot: 1 })]), { P: "pending" });
    const taken = [{ slot: 1, at: 100 }];
    assert.deepEqual(told([authorised("P", 100, { slot: 1 }), claimed("C", 110, { taken })]), { P: "C" });
  });

  test("is unknown when a gap may hide its claim, until the gap is filled", () => {
    const absent = authorised("P", 100, { slot: 1, absentAt: 181 });
    assert.deepEqual(told([absent], { gaps: [gap(120, 150)] }), { P: "unknown" });
    assert.deepEqual(told([absent], { gaps: [gap(182, 190)] }), { P: "ended 181" });
    assert.deepEqual(told([absent]), { P: "ended 181" });
    assert.deepEqual(told([authorised("P", 100, { slot: 1 })], { gaps: [gap(120, 150)] }), { P: "unknown" });
    // Its entry was read after the gap.
    assert.deepEqual(told([{ ...absent, aliveAt: 160 }], { gaps: [gap(120, 150)] }), { P: "ended 181" });
    // The claim that was in the gap.
    const events = [absent, claimed("C", 130, { taken: [{ slot: 1, at: 100 }] })];
    assert.deepEqual(told(events), { P: "C" });
  });

  test("is decided by the next claim, also when its slot is used again", () => {
    const events = [
      authorised("P", 100, { slot: 18 }),
      authorised("other", 170, { slot: 19 }),
      claimed("first", 190, { taken: [{ slot: 19, at: 170 }] }),
      authorised("Q", 200, { slot: 18 }),
      claimed("second", 210, { taken: [{ slot: 18, at: 200 }] }),
    ];
    assert.deepEqual(told(events), { P: "ended 190", other: "first", Q: "second" });
    // Without the claim between them, too: it comes late, or is in a gap.
    const gapped = events.filter(({ id }) => id !== "first");
    assert.equal(told(gapped, { settledLedger: 180 }).P, "pending");
    assert.equal(told(gapped, { gaps: [gap(190, 190)] }).P, "unknown");
    assert.equal(told(gapped).Q, "second");
  });

  test("is claimed when one transaction claims and authorises, in either order", () => {
    const overwritten = [{ slot: 1, at: 100 }];
    const first = [
      authorised("P", 100, { slot: 1 }),
      claimed("C", 110, { txHash: "both", taken: overwritten }),
      authorised("Q", 110, { txHash: "both", slot: 1 }),
    ];
    assert.deepEqual(told(first), { P: "C", Q: "pending" });
    const after = [
      authorised("P", 100, { slot: 1 }),
      authorised("Q", 110, { txHash: "both" }),
      claimed("C", 110, { txHash: "both", taken: overwritten }),
      authorised("R", 110, { txHash: "both" }),
      claimed("D", 110, { txHash: "both", taken: overwritten }),
      authorised("S", 110, { txHash: "both", slot: 1 }),
    ];
    assert.deepEqual(told(after), { P: "C", Q: "C", R: "D", S: "pending" });
  });

  test("is ended only when the ledger without its entry is settled", () => {
    const absent = authorised("P", 100, { slot: 1, absentAt: 185 });
    assert.deepEqual(told([absent], { settledLedger: 184 }), { P: "pending" });
    assert.deepEqual(told([absent], { settledLedger: 185 }), { P: "ended 185" });
    const passedOver = [authorised("P", 100, { slot: 1 }), claimed("C", 190, { taken: [] })];
    assert.deepEqual(told(passedOver, { settledLedger: 189 }), { P: "pending" });
    assert.deepEqual(told(passedOver, { settledLedger: 190 }), { P: "ended 190" });
  });

  test("is not ended by a reading of the claim's own ledger", () => {
    const events = (absentAt: number) => [authorised("P", 100, { absentAt }), claimed("C", 190)];
    assert.deepEqual(told(events(190)), { P: "C" });
    assert.deepEqual(told([authorised("Q", 189, { slot: 2, amount: 5n }), ...events(189)]).P, "ended 189");
    assert.deepEqual(told([authorised("P", 100, { absentAt: 190 }), claimed("C", 190)], { settledLedger: 1 }), {
      P: "unknown",
    });
  });

  test("is claimed without metadata when it had not reached its end", () => {
    assert.deepEqual(told([authorised("P", 100), claimed("C", 180)]), { P: "C" });
    assert.deepEqual(told([authorised("P", 100, { endLedger: 400, aliveAt: 170 }), claimed("C", 300)]), { P: "C" });
  });

  test("follows from the sum without metadata, all or none, when nothing is missing since the last claim", () => {
    const events = (amount: bigint) => [
      claimed("before", 90),
      authorised("P", 100, { amount: 3n }),
      authorised("Q", 101, { amount: 4n }),
      authorised("R", 200, { amount: 5n }),
      claimed("C", 250, { amount }),
    ];
    assert.deepEqual(told(events(12n)), { P: "C", Q: "C", R: "C" });
    assert.deepEqual(told(events(5n)), { P: "ended 250", Q: "ended 250", R: "C" });
    assert.deepEqual(told(events(8n)), { P: "unknown", Q: "unknown", R: "C" });
    assert.deepEqual(told(events(12n), { settledLedger: 249 }), { P: "unknown", Q: "unknown", R: "C" });
    assert.deepEqual(told(events(12n), { gaps: [gap(95, 95)] }), { P: "unknown", Q: "unknown", R: "C" });
    assert.deepEqual(told(events(12n), { gaps: [gap(80, 89)] }), { P: "C", Q: "C", R: "C" });
    // Nothing is known of what was before the log began.
    assert.equal(told(events(12n).slice(1), { gaps: [gap(0, 99)] }).P, "unknown");
  });

  test("of a payment without metadata follows from its ledger, when the claim has metadata", () => {
    const events = (
      taken: Claim["taken"],
    ) => [authorised("P", 100), authorised("Q", 100), claimed("C", 250, { taken })];
    assert.deepEqual(told(events([{ slot: 1, at: 100 }, { slot: 2, at: 100 }])), { P: "C", Q: "C" });
    assert.deepEqual(told(events([{ slot: 3, at: 101 }])), { P: "ended 250", Q: "ended 250" });
    assert.deepEqual(told(events([{ slot: 2, at: 100 }])), { P: "unknown", Q: "unknown" });
  });

  test("is unknown after a reset, unless a claim or a reading had decided it", () => {
    const events = [
      authorised("P", 100, { slot: 1 }),
      claimed("C", 110, { taken: [{ slot: 1, at: 100 }] }),
      authorised("Q", 120, { slot: 1, absentAt: 205 }),
      authorised("R", 220, { slot: 2 }),
    ];
    const reset = { isFormer: true, settledLedger: 210, gaps: [gap(211, 230)] };
    assert.deepEqual(told(events, reset), { P: "C", Q: "ended 205", R: "unknown" });
  });
});

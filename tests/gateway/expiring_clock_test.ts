// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PendingPaymentAnswer } from "../../lib/escrow/reads/reads.ts";
import { createExpiringPayments } from "../../lib/escrow/reads/expiring_payments.ts";
import { createHead } from "../../lib/stellar/head.ts";
import { logOf } from "../escrow/memory_log.ts";
import { fakeClock } from "../stellar/rpc/stub_rpc.ts";
import { CONTRACT } from "../store/samples.ts";

const LIFE = 17_280;
const LATEST = 100_000;
const AUTHORIZED = LATEST - LIFE + 1_000;
const PACE = 5;
/** When ledger LATEST closes, Unix seconds. */
const NOW = 1_800_000_000;
const DAY_MS = 86_400_000;

const secondsOf = (ledger: number) => NOW + (ledger - LATEST) * PACE;

/** A payment in the last quarter of its life, and a gateway whose clock is ahead at the start. */
function stage({ aheadMs, stored }: { aheadMs: number; stored?: number }) {
  const clock = fakeClock(NOW * 1_000 + aheadMs);
  const head = createHead({
    clock,
    stored: stored === undefined ? undefined : { sequence: stored, closeTime: secondsOf(stored) },
  });
  const times = { authorizedAt: secondsOf(AUTHORIZED), expiresAt: secondsOf(AUTHORIZED + LIFE) };
  const payment = { deviceHash: "ab".repeat(32), amount: "1", ...times };
  const chain: { payments: PendingPaymentAnswer[]; more?: true } = { payments: [payment] };
  const expiring = createExpiringPayments({
    events: logOf([{ type: "payment.authorized", merchant: "M", ledger: AUTHORIZED }]),
    paymentEscrow: CONTRACT,
    reads: { pending: () => Promise.resolve({ pending: "1", ...chain }) },
    shortestLife: () => Promise.resolve(LIFE),
    latestLedger: () => head.sequence,
    nowMs: () => head.networkSeconds() * 1_000,
    wait: () => new Promise(() => {}),
  });
  /** Closes so many ledgers, and the gateway observes each from the node. */
  function close(ledgers: number): void {
    for (let closed = 0; closed < ledgers; closed++) {
      const ledger = LATEST + Math.floor(clock.monotonicMs() / 1_000 / PACE);
      head.observe({ node: 0, sequence: ledger, closeTime: secondsOf(ledger) });
      clock.pass(PACE * 1_000);
    }
  }
  return { expiring, chain, close };
}

test("the gateway reports payments that expire soon, also when its clock was a day ahead at the first request", async () => {
  const { expiring, close } = stage({ aheadMs: DAY_MS });
  // As for a scrape in the first second: no node has answered yet.
  assert.deepEqual(await expiring.now(), { payments: 0, merchants: 0, firstAt: null, complete: false });
  close(13);
  const firstAt = secondsOf(AUTHORIZED + LIFE);
  assert.deepEqual(await expiring.now(), { payments: 1, merchants: 1, firstAt, complete: true });
});

for (const aheadMs of [DAY_MS / 48, DAY_MS]) {
  test(`the gateway no longer reports a claimed payment, with a clock ${aheadMs / 60_000} minutes ahead at the start`, async () => {
    const { expiring, chain, close } = stage({ aheadMs, stored: LATEST - 1 });
    await expiring.now();
    chain.payments = [];
    close(13);
    assert.deepEqual(await expiring.now(), { payments: 0, merchants: 0, firstAt: null, complete: true });
  });
}

test("the gateway does not report a payment with a longer life before the last quarter of that life", async () => {
  const { expiring, chain, close } = stage({ aheadMs: DAY_MS, stored: LATEST - 1 });
  chain.payments = [{ ...chain.payments[0]!, expiresAt: secondsOf(AUTHORIZED + LIFE * 2) }];
  assert.equal((await expiring.now()).payments, 1, "it is, by the clock that is ahead");
  close(13);
  assert.deepEqual(await expiring.now(), { payments: 0, merchants: 0, firstAt: null, complete: true });
});

test("the gateway asks again for a merchant's payments that had no expiry while the clock was ahead", async () => {
  const { expiring, chain, close } = stage({ aheadMs: DAY_MS / 48, stored: LATEST - 1 });
  const [payment] = chain.payments;
  chain.payments = [{ ...payment!, expiresAt: null }];
  assert.equal((await expiring.now()).complete, false);
  chain.payments = [payment!];
  close(13);
  const firstAt = secondsOf(AUTHORIZED + LIFE);
  assert.deepEqual(await expiring.now(), { payments: 1, merchants: 1, firstAt, complete: true });
});

test("the report is incomplete when a merchant has more payments than listed and all listed ones expire soon", async () => {
  const { expiring, chain, close } = stage({ aheadMs: 0, stored: LATEST });
  close(1);
  const [payment] = chain.payments as [PendingPaymentAnswer];
  Object.assign(chain, { payments: [payment, payment], more: true });
  const firstAt = secondsOf(AUTHORIZED + LIFE);
  assert.deepEqual(await expiring.now(), { payments: 2, merchants: 1, firstAt, complete: false });
  // The payments that are not listed are younger.
  chain.payments = [payment, { ...payment, expiresAt: secondsOf(AUTHORIZED + LIFE * 2) }];
  close(13);
  assert.deepEqual(await expiring.now(), { payments: 1, merchants: 1, firstAt, complete: true });
});

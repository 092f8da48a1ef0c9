// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createMerchantEnvelopes } from "../../../lib/escrow/operations/merchant_envelopes.ts";

const MINUTE_MS = 60_000;

function stage() {
  let nowMs = 1_800_000_000_000;
  const parts = createMerchantEnvelopes({ now: () => nowMs, validForMs: 5 * MINUTE_MS });
  return { ...parts, passMinutes: (minutes: number) => void (nowMs += minutes * MINUTE_MS) };
}

describe("the competing envelopes of a merchant", () => {
  test("are those of the other payers, each counted once", () => {
    const { handOut, others } = stage();
    for (const payer of ["a", "b", "b", "c"]) handOut("merchant", payer, "authorize");
    handOut("another", "d", "authorize");
    assert.deepEqual(others("merchant", "a"), { payments: 2, claim: false });
    assert.deepEqual(others("another", "d"), { payments: 0, claim: false });
  });

  test("are all payments for the claim, and the claim for a payment", () => {
    const { handOut, others, confirmed } = stage();
    handOut("merchant", "a", "authorize");
    handOut("merchant", "merchant", "claim");
    assert.deepEqual(others("merchant", "merchant"), { payments: 1, claim: true });
    confirmed("merchant", "merchant", "claim");
    assert.equal(others("merchant", "a").claim, false);
  });

  test("end with their payment or its validity, and count for five minutes more", () => {
    const { handOut, others, confirmed, passMinutes } = stage();
    for (const payer of ["a", "b", "c"]) handOut("merchant", payer, "authorize");
    assert.equal(others("merchant", "a").payments, 2);
    confirmed("merchant", "b", "authorize");
    passMinutes(4);
    assert.equal(others("merchant", "a").payments, 2, "so many there were lately");
    handOut("merchant", "d", "authorize");
    passMinutes(1.1);
    assert.equal(others("merchant", "a").payments, 1, "the one who came last");
    passMinutes(11);
    assert.equal(others("merchant", "a").payments, 0);
  });

  test("are one fewer after a withdrawal, and the payment before still counts", () => {
    const { handOut, others } = stage();
    handOut("merchant", "a", "authorize");
    handOut("merchant", "a", "authorize")();
    handOut("merchant", "b", "authorize")();
    handOut("merchant", "merchant", "claim")();
    assert.deepEqual(others("merchant", "c"), { payments: 1, claim: false });
  });

  test("count for five minutes after a collision, and more after another", () => {
    const { others, collided, passMinutes } = stage();
    collided("merchant");
    assert.equal(others("merchant", "a").payments, 4);
    collided("merchant");
    assert.equal(others("merchant", "a").payments, 8);
    for (let again = 0; again < 20; again += 1) collided("merchant");
    assert.equal(others("merchant", "a").payments, 64);
    passMinutes(5.1);
    assert.equal(others("merchant", "a").payments, 0);
  });

  test("are kept for a limited number of payers and merchants", () => {
    const { handOut, others } = stage();
    for (let payer = 0; payer < 1_000; payer += 1) handOut("merchant", `payer ${payer}`, "authorize");
    assert.ok(others("merchant", "a").payments <= 64);
    for (let merchant = 0; merchant < 10_000; merchant += 1) handOut(`merchant ${merchant}`, "a", "authorize");
    assert.equal(others("merchant", "a").payments, 0);
  });
});

test("the withdrawal of a claim does not remove a later one", () => {
  const envelopes = createMerchantEnvelopes({ now: () => 0, validForMs: 300_000 });
  const withdraw = envelopes.handOut("M", "M", "claim");
  envelopes.handOut("M", "M", "claim");
  withdraw();
  assert.equal(envelopes.others("M", "P").claim, true);
});

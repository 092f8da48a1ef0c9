// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createSharedMerchantEnvelopes } from "../../lib/gateway/shared_merchant_envelopes.ts";
import { openStore } from "../../lib/store/open.ts";
import { createTestClock } from "../test_clock.ts";

async function stage() {
  const clock = createTestClock();
  const store = await openStore("memory:", { now: clock.now, isShared: true });
  return { clock, ...createSharedMerchantEnvelopes(store) };
}

test("each is told of the other payers and of a claim, whichever gateway has handed them out, until they are applied", async () => {
  const { handOut, confirmed } = await stage();
  assert.deepEqual(await handOut("merchant", "a", "authorize"), { payments: 0, claim: false });
  await handOut("another", "d", "authorize");
  assert.deepEqual(await handOut("merchant", "b", "authorize"), { payments: 1, claim: false });
  assert.deepEqual(await handOut("merchant", "b", "authorize"), { payments: 1, claim: false });
  assert.deepEqual(await handOut("merchant", "merchant", "claim"), { payments: 2, claim: false });
  assert.deepEqual(await handOut("merchant", "c", "authorize"), { payments: 2, claim: true });
  await confirmed("merchant", "merchant", "claim");
  await confirmed("merchant", "a", "authorize");
  await confirmed("merchant", "nobody", "authorize");
  assert.deepEqual(await handOut("merchant", "c", "authorize"), { payments: 1, claim: false });
});

test("an envelope counts for as long as it is valid, and not for longer where the store's clock is set back", async () => {
  const { clock, handOut } = await stage();
  await handOut("merchant", "a", "authorize");
  clock.advance(200_000);
  await handOut("merchant", "b", "authorize");
  clock.advance(101_000);
  assert.equal((await handOut("merchant", "c", "authorize")).payments, 1);
  clock.step(-3_600_000);
  assert.equal((await handOut("merchant", "c", "authorize")).payments, 0);
});

test("no more are kept of a crowd than reserved places are ever made for", async () => {
  const { handOut } = await stage();
  let payments = 0;
  for (let n = 0; n < 100; n++) ({ payments } = await handOut("merchant", `payer ${n}`, "authorize"));
  assert.equal(payments, 63);
});

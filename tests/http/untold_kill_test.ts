// needs: once
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startIntentCalls } from "./intents_stage.ts";
import { forTier } from "../tier.ts";

const { stage, other, newCard, pass, ask, prepared, signed } = await startIntentCalls(1);
after(() => stage.close());

/** Between these a submit sends, is confirmed and is answered, whatever the start takes. */
const [FIRST_STEP, LAST_STEP] = [120, 190];
/** The short form kills at each sixth of them. */
const STRIDE = forTier({ test: 6, all: 1 });

test("who is not answered because the gateway was killed is warned when he prepares the same again, however late that was", async () => {
  const card = newCard();
  let killed = 0;
  for (let steps = FIRST_STEP; steps <= LAST_STEP; steps += STRIDE) {
    const amount = String(steps);
    const { body: { xdr, hash } } = await prepared(card, {}, amount);
    // As on a shared store, where the others are told of its ledger before it is answered.
    const { gateway: of, life } = await stage.time.until(
      stage.live(steps, undefined, (own) => Object.create(own, { isShared: { value: true } })),
    );
    const submit = ask("/v1/transactions/submit", signed(xdr, card.owner), { of });
    let isAnswered = false;
    void submit.then(() => isAnswered = true);
    await stage.time.until(Promise.race([submit, life.over]));
    await pass(8);
    if (isAnswered) continue;
    const { body } = await prepared(card, { of: other }, amount);
    const status = await stage.time.until(ask(`/v1/transactions/${hash}`, undefined, { method: "GET", of: other }));
    if (status.body.status !== "success") continue;
    killed += 1;
    assert.match(body.warning ?? "no warning", new RegExp(hash), `killed after ${steps} steps`);
  }
  assert.ok(killed > 0);
});

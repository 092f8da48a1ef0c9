// needs: once
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { cutAfterSubmit, startIntentCalls } from "./intents_stage.ts";

const { stage, other, newCard, pass, asked, prepared, submitted, bumped, applyElsewhere } = await startIntentCalls(3);
after(() => stage.close());

describe("a fee bump of a transaction that was applied already", () => {
  test("is not told to prepare it again: the operation would be done twice", async () => {
    const card = newCard();
    const { body: { xdr, hash } } = await prepared(card, {});
    const first = await submitted(card, xdr);
    assert.equal(first.status, 200, first.text);
    const second = await asked("/v1/transactions/submit", bumped(card, xdr, 200_000));
    assert.notEqual(second.body.error?.retry, "prepare_again", `${hash} was applied: ${second.text}`);
  });

  test("leaves no caller without a word: it is told that it was applied, or warned at the next prepare", async () => {
    const card = newCard();
    const { gateway: cut } = await stage.time.until(stage.live(Infinity, cutAfterSubmit()));
    const { body: { xdr, hash } } = await prepared(card, {});
    const lost = await submitted(card, xdr, { of: cut });
    assert.equal(lost.status, 502);
    await pass(6);
    // The caller takes the fee for too low, and bumps it.
    const bump = await asked("/v1/transactions/submit", bumped(card, xdr, 200_000), { of: other });
    const { body } = await prepared(card, { of: other });
    assert.ok(bump.status === 200 || body.warning?.includes(hash), `${bump.text}, and no warning`);
  });

  test("the same where the inner one was applied past the gateway", async () => {
    const card = newCard();
    const { body: { xdr } } = await prepared(card, {});
    await applyElsewhere(card, xdr);
    const second = await asked("/v1/transactions/submit", bumped(card, xdr, 200_000));
    assert.notEqual(second.body.error?.retry, "prepare_again", second.text);
  });
});

// needs: once
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { cutAfterSubmit, startIntentCalls } from "./intents_stage.ts";

const { stage, gateway, other, newCard, pass, asked, signed } = await startIntentCalls(1);
after(() => stage.close());

test("a refusal says so, too, where it may come of what was applied and nobody was told of", async () => {
  const { deviceHash, owner, agent } = newCard();
  const merchant = owner.publicKey();
  /** All that the escrow holds. */
  const operation = { kind: "authorize", deviceHash, merchant, asset: stage.asset, amount: "10000000000" };
  const prepare = (of = gateway) => asked("/v1/transactions/prepare", { source: agent.publicKey(), operation }, { of });
  const { gateway: cut } = await stage.time.until(stage.live(Infinity, cutAfterSubmit()));
  const { body: { xdr, hash } } = await prepare();
  const lost = await asked("/v1/transactions/submit", signed(xdr, agent), { of: cut });
  assert.equal(lost.status, 502);
  await pass(6);
  const { status, body: { error } } = await prepare(other);
  assert.deepEqual([status, error.contractError, error.reason, error.retry], [
    422,
    "InsufficientBalance",
    "insufficient_escrow",
    "never",
  ]);
  assert.match(
    error.message,
    new RegExp(`; .*${hash}, .* was applied in ledger \\d+: ask GET /v1/transactions/${hash} `),
  );
  // Once he is told, it is only what it is.
  assert.equal((await asked(`/v1/transactions/${hash}`, undefined, { method: "GET" })).body.status, "success");
  assert.doesNotMatch((await prepare()).body.error.message, new RegExp(hash));
});

// needs: neutral
import { TransactionBuilder } from "@stellar/stellar-sdk/base";
import assert from "node:assert/strict";
import { test } from "node:test";
import { hashCard, toUnits } from "../../lib/client/client.ts";
import { type Ask, owner, stage, stageOfFile } from "./client_stage.ts";

stageOfFile();

/** A new card's funding. */
async function funding(name: string) {
  const deviceHash = await hashCard(name);
  const agent = stage.accounts.agent.address;
  assert.ok((await stage.client().write({ kind: "registerDevice", deviceHash, agent }, owner)).ok);
  return { kind: "fundEscrow", deviceHash, asset: stage.asset, amount: toUnits("1") } as const;
}

test("a number of envelopes that is none, as of a variable that is not set, signs no more than one", async () => {
  const error = { code: "invalid_request", message: "txBadSeq", transactionError: "txBadSeq", retry: "prepare_again" };
  const fetch: Ask = async (url, init) =>
    url.includes("/submit") ? Response.json({ error }, { status: 400 }) : await stage.ask(url, init);
  let signed = 0;
  const sign = (envelope: string) => {
    if (++signed > 3) throw new Error("it signs on and on");
    const transaction = TransactionBuilder.fromXDR(envelope, stage.network.networkPassphrase);
    transaction.sign(owner);
    return transaction.toXDR();
  };
  const options = { source: owner.publicKey(), maxEnvelopes: NaN };
  const written = await stage.client({ fetch }).write(await funding("no number"), sign, options);
  assert.deepEqual([written.ok || written.reason, signed], ["outcome_unknown", 1]);
});

test("two intents without a name are two, also where the name is null", async () => {
  const operation = await funding("no name");
  const options = { idempotencyKey: null as unknown as undefined };
  for (let payments = 1; payments <= 2; payments++) {
    assert.ok((await stage.client().write(operation, owner, options)).ok);
    const device = await stage.client().device(operation.deviceHash);
    assert.equal(device.ok && device.escrowBalance, toUnits(String(payments)));
  }
});

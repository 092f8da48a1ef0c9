// needs: neutral
import { Keypair, TransactionBuilder } from "@stellar/stellar-sdk/base";
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Operation } from "../../lib/client/client.ts";
import { type Ask, newCard, owner, stage, stageOfFile, tampered } from "./client_stage.ts";

stageOfFile();

/** A first try with this key, which ends while its envelope is on its way. `arrive`: it comes to the gateway. */
async function endedOnTheWay(operation: Operation, idempotencyKey: string) {
  const giveUp = new AbortController();
  let onItsWay: (() => Promise<Response>) | undefined;
  const fetch: Ask = async (url, init) => {
    if (!url.includes("/submit")) return await stage.ask(url, init);
    onItsWay = () => stage.ask(url, { ...init, signal: undefined });
    giveUp.abort();
    throw new TypeError("the connection was cut");
  };
  const first = await stage.client({ fetch }).write(operation, owner, { idempotencyKey, signal: giveUp.signal });
  assert.ok(!first.ok && first.reason === "outcome_unknown", JSON.stringify(first));
  return { arrive: async () => assert.equal((await onItsWay!()).status, 200) };
}

/** A first try with this key, whose envelope a node turned down that others may not agree with. */
async function refusedByOneNode(operation: Operation, idempotencyKey: string): Promise<{ hash: string }> {
  const stranger = (envelope: string) => {
    const transaction = TransactionBuilder.fromXDR(envelope, stage.network.networkPassphrase);
    transaction.sign(Keypair.random());
    return transaction.toXDR();
  };
  const first = await stage.client().write(operation, stranger, { idempotencyKey, source: owner.publicKey() });
  assert.ok(!first.ok && first.transactionError === "txBadAuth", JSON.stringify(first));
  return { hash: first.hash! };
}

/** The envelope is sent and waits for its ledger. */
const pending: Ask = async (url, init) => {
  const [, hash] = /transactions\/([0-9a-f]{64})$/.exec(url) ?? [];
  return hash === undefined ? await stage.ask(url, init) : Response.json({ hash, status: "pending" });
};

test("a reused key without a signature does not report 'not sent' for a sent envelope", async () => {
  const declined = () => Promise.reject(new Error("the user declined"));
  for (const [at, sign, more] of [[0, declined, {}], [1, owner, { maxFee: "1" }]] as const) {
    const operation = await newCard(`waiting ${at}`);
    const options = { idempotencyKey: `waiting-${at}`, source: owner.publicKey(), ...more };
    const { arrive } = await endedOnTheWay(operation, options.idempotencyKey);
    const again = await stage.client({ fetch: pending }).write(operation, sign, options);
    await arrive();
    assert.ok(!again.ok);
    assert.deepEqual([again.reason, again.retry, typeof again.hash], ["outcome_unknown", "same", "string"]);
    const last = await stage.client().write(operation, owner, { idempotencyKey: options.idempotencyKey });
    assert.ok(last.ok && last.hash === again.hash, JSON.stringify(last));
  }
  // An envelope that was never sent ends with not_signed.
  const options = { idempotencyKey: "never-sent", source: owner.publicKey() };
  const unsent = await stage.client().write(await newCard("never sent"), declined, options);
  assert.equal(unsent.ok || unsent.reason, "not_signed");
});

test("a reused key with a replacement envelope does not report 'not sent' either", async () => {
  const declined = () => Promise.reject(new Error("the user declined"));
  const operation = await newCard("turned down by one node");
  const options = { idempotencyKey: "turned-down-by-one", source: owner.publicKey() };
  const { hash } = await refusedByOneNode(operation, options.idempotencyKey);
  const again = await stage.client().write(operation, declined, options);
  assert.ok(!again.ok);
  assert.deepEqual([again.reason, again.retry, again.hash], ["outcome_unknown", "same", hash]);
  const last = await stage.client().write(operation, owner, options);
  assert.ok(last.ok, JSON.stringify(last));
});

test("an applied transaction does not fail when one node does not find it", async () => {
  const operation = await newCard("turned down and applied");
  const options = { idempotencyKey: "turned-down-and-applied" };
  assert.ok((await stage.client().write(operation, owner, options)).ok);
  for (const retry of ["never", "prepare_again"]) {
    const fetch = tampered(stage.ask, "transactions/", (body) => {
      if ("xdr" in body) return body;
      return { hash: body.hash, status: "rejected", error: "txInsufficientFee", retry };
    });
    const again = await stage.client({ fetch }).write(operation, owner, options);
    assert.equal(again.ok || again.reason, "outcome_unknown");
  }
});

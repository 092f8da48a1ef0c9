// needs: neutral
import { TransactionBuilder } from "@stellar/stellar-sdk/base";
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Operation, toUnits } from "../../lib/client/client.ts";
import { type Ask, hashOfName, owner, stage, stageOfFile } from "./client_stage.ts";

stageOfFile();

/** A new card's funding, and what is in its escrow. */
async function funding(name: string): Promise<{ operation: Operation; balance(): Promise<string> }> {
  const deviceHash = hashOfName(name);
  const gateway = stage.client();
  const agent = stage.accounts.agent.address;
  const registered = await gateway.write({ kind: "registerDevice", deviceHash, agent }, owner);
  assert.ok(registered.ok, JSON.stringify(registered));
  return {
    operation: { kind: "fundEscrow", deviceHash, asset: stage.asset, amount: toUnits("1") },
    async balance() {
      const device = await gateway.device(deviceHash);
      assert.ok(device.ok);
      return device.escrowBalance;
    },
  };
}

/** The first envelope is turned down by the node that is asked, while another one has it: it may be applied later on. */
function turningDownTheFirst() {
  let held: (() => Promise<Response>) | undefined;
  const ask: Ask = async (url, init) => {
    if (!url.includes("/submit") || held !== undefined) return await stage.ask(url, init);
    held = () => stage.ask(url, { ...init, signal: undefined });
    const error = {
      code: "invalid_request",
      message: "txBadSeq",
      transactionError: "txBadSeq",
      retry: "prepare_again",
    };
    return Response.json({ error }, { status: 400 });
  };
  return { ask, apply: async () => assert.equal((await held!()).status, 200) };
}

test("with maxEnvelopes 1, a rejected envelope that another node may have is outcome_unknown", async () => {
  const { operation, balance } = await funding("one envelope");
  const { ask, apply } = turningDownTheFirst();
  const options = { idempotencyKey: "one-envelope", maxEnvelopes: 1 };
  const written = await stage.client({ fetch: ask }).write(operation, owner, options);
  await apply();
  assert.equal(await balance(), toUnits("1"));
  assert.ok(!written.ok);
  assert.deepEqual([written.reason, written.retry], ["outcome_unknown", "same"], JSON.stringify(written));
  const again = await stage.client().write(operation, owner, options);
  assert.ok(again.ok, JSON.stringify(again));
  assert.equal(again.hash, written.hash);
  assert.equal(await balance(), toUnits("1"));
});

test("a wallet that declines the second envelope ends with outcome_unknown", async () => {
  const { operation, balance } = await funding("a second envelope");
  const { ask, apply } = turningDownTheFirst();
  let hash: string | undefined;
  const sign = (envelope: string, about: { hash: string }) => {
    if (hash !== undefined) throw new Error("the user declined");
    hash = about.hash;
    const transaction = TransactionBuilder.fromXDR(envelope, stage.network.networkPassphrase);
    transaction.sign(owner);
    return transaction.toXDR();
  };
  const written = await stage.client({ fetch: ask }).write(operation, sign, { source: owner.publicKey() });
  await apply();
  assert.equal(await balance(), toUnits("1"));
  assert.ok(!written.ok);
  assert.deepEqual([written.reason, written.retry, written.hash], ["outcome_unknown", "same", hash]);
  assert.match(written.message, /the user declined/);
});

test("a gateway that refuses the second envelope ends with outcome_unknown", async () => {
  const { operation, balance } = await funding("a second envelope that is refused");
  const { ask, apply } = turningDownTheFirst();
  let submits = 0;
  const fetch: Ask = async (url, init) => {
    if (!url.includes("/submit") || ++submits === 1) return await ask(url, init);
    const error = { code: "invalid_request", message: "the card is spent", retry: "never" };
    return Response.json({ error }, { status: 400 });
  };
  const written = await stage.client({ fetch }).write(operation, owner);
  await apply();
  assert.equal(await balance(), toUnits("1"));
  assert.ok(!written.ok);
  assert.deepEqual([written.reason, written.retry, written.message], ["outcome_unknown", "same", "the card is spent"]);
});

test("a gateway that does not answer the second prepare ends with outcome_unknown", async () => {
  const { operation, balance } = await funding("away");
  const { ask, apply } = turningDownTheFirst();
  const giveUp = new AbortController();
  let prepares = 0;
  const fetch: Ask = async (url, init) => {
    if (!url.includes("/prepare") || ++prepares === 1) return await ask(url, init);
    giveUp.abort();
    throw new TypeError("connection refused");
  };
  const written = await stage.client({ fetch }).write(operation, owner, { signal: giveUp.signal });
  await apply();
  assert.equal(await balance(), toUnits("1"));
  assert.ok(!written.ok);
  assert.deepEqual([written.reason, written.retry, typeof written.hash], ["outcome_unknown", "same", "string"]);
});

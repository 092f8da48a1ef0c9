// needs: once
import { TransactionBuilder } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { NodeFaults } from "../faults/node_faults.ts";
import { type Answered, assertDone, cutAfterSubmit, forgetful, startIntentCalls } from "./intents_stage.ts";
import type { Card } from "../faults/intents_stage.ts";

const calls = await startIntentCalls(12);
const { stage, gateway, other, newCard, pass, asked, prepared } = calls;
const { submitted, outcomeOf, gatewayWith, move, payment, signed, bumped, turnDown, applyElsewhere } = calls;
after(() => stage.close());

/** Applies an envelope in a ledger at once, as if another node had received it. */
function applyNow(card: Card, envelope: string): void {
  const { xdr } = signed(envelope, card.owner);
  stage.network.submit(TransactionBuilder.fromXdr(xdr, stage.network.passphrase).toEnvelope().toXdr());
  stage.network.closeLedger();
}

describe("prepare with the Idempotency-Key of a rejected envelope", () => {
  test("answers a replacement with the same sequence number", async () => {
    const card = newCard();
    const first = await prepared(card, { key: "turned-down" });
    await turnDown(card, first.body.xdr, "turned-down");
    const { body: reported } = await outcomeOf(first.body.hash);
    assert.deepEqual([reported.status, reported.ledger], ["rejected", undefined]);
    assert.match(reported.error, /txBadAuth/);
    await pass(4);
    const second = await prepared(card, { key: "turned-down" });
    assert.notEqual(second.body.hash, first.body.hash);
    const sequenceOf = ({ body }: Answered) =>
      (TransactionBuilder.fromXdr(body.xdr, stage.network.passphrase) as { sequence: string }).sequence;
    assert.equal(sequenceOf(second), sequenceOf(first));
    // A caller that repeats the key without signing learns of the replacement.
    assert.equal(second.body.replaces, first.body.hash);
    assert.equal((await prepared(card, { key: "turned-down" })).text, second.text);
    assert.equal((await submitted(card, second.body.xdr, { key: "turned-down" })).status, 200);
    assert.equal((await prepared(card, { key: "turned-down" })).body.replaces, undefined);
    // Rightly signed, and too late for that.
    assert.equal((await submitted(card, first.body.xdr)).body.error.transactionError, "txBadSeq");
  });

  test("answers status success when the replaced envelope was applied after all", async () => {
    const card = newCard();
    const first = await prepared(card, { key: "taken-in" });
    for (let n = 0; n < 3; n++) {
      const { body } = await prepared(card, { key: "taken-in" });
      await turnDown(card, body.xdr, "taken-in");
    }
    // Another node had it.
    await applyElsewhere(card, first.body.xdr);
    for (const one of [gateway, other]) {
      const again = await prepared(card, { key: "taken-in", of: one });
      assertDone(again, first);
    }
  });

  test("answers the outcome that another gateway stored, while this gateway reaches no node", async () => {
    const card = newCard();
    const first = await prepared(card, { key: "noted" });
    assert.equal((await submitted(card, first.body.xdr, { key: "noted", of: other })).status, 200);
    const silent: NodeFaults = () => Promise.reject(new TypeError("connection reset"));
    const cut = await gatewayWith(silent);
    assertDone(await prepared(card, { key: "noted", of: cut }), first);
  });

  test("answers the known outcome after all nodes forgot the replacement envelopes", async () => {
    const card = newCard();
    const envelopes = [];
    for (let n = 0; n < 3; n++) {
      const { body } = await prepared(card, { key: "known" });
      await turnDown(card, body.xdr, "known");
      envelopes.push(body);
    }
    const { body: latest } = await prepared(card, { key: "known" });
    assert.equal(new Set([latest, ...envelopes].map(({ hash }) => hash)).size, 4);
    // Another node had the second one, and a caller asks for its outcome while nodes still have it.
    const { hash, xdr } = envelopes[1];
    await applyElsewhere(card, xdr);
    const reported = await outcomeOf(hash);
    assert.equal(reported.body.status, "success");
    const late = await gatewayWith(forgetful);
    await pass(3_000);
    const again = await prepared(card, { key: "known", of: late });
    assert.deepEqual([again.status, again.body.hash, again.body.status], [200, hash, "success"], again.text);
    const more = await asked("/v1/transactions/submit", signed(latest.xdr, card.owner), { key: "known", of: late });
    assert.match(more.body.error.message, new RegExp(`belongs to transaction ${hash}, which the network has applied`));
  });

  test("answers no replacement when the envelope is applied during the request", async () => {
    const card = newCard();
    let reads = Infinity;
    const turnedDown: { xdr?: string } = {};
    const faults: NodeFaults = (init, ask) => {
      const { method } = JSON.parse(String(init.body));
      // The first read of the account judges the rejected envelope, the second one builds its replacement.
      if (method === "getLedgerEntries" && --reads === 0) applyNow(card, turnedDown.xdr!);
      return ask();
    };
    const unlucky = await gatewayWith(faults);
    const first = await prepared(card, { key: "just-then", of: unlucky });
    turnedDown.xdr = first.body.xdr;
    await asked("/v1/transactions/submit", signed(first.body.xdr, card.agent), { key: "just-then", of: unlucky });
    await pass(6);
    reads = 2;
    const again = await prepared(card, { key: "just-then", of: unlucky });
    assert.ok(reads <= 0);
    assertDone(again, first);
  });

  test("answers a limited number of replacements, then repeats the last one until all are past their time bounds", async () => {
    const card = newCard();
    const hashes = [];
    for (let n = 0; n < 30; n++) {
      const { body } = await prepared(card, { key: "turned-down-often" });
      hashes.push(body.hash);
      await asked("/v1/transactions/submit", signed(body.xdr, card.agent), { key: "turned-down-often" });
      await pass(6);
    }
    const different = new Set(hashes).size;
    assert.ok(different > 8 && different < 28, String(different));
    assert.equal(new Set(hashes.slice(different - 1)).size, 1);
    await pass(400);
    // A second answer must confirm that the time bound has passed, or a third one if a ledger closes in between.
    for (let answers = 0; answers < 2; answers++) {
      await prepared(card, { key: "turned-down-often" });
      await pass(2);
    }
    const fresh = await prepared(card, { key: "turned-down-often" });
    assert.ok(!hashes.includes(fresh.body.hash));
    assert.equal((await submitted(card, fresh.body.xdr, { key: "turned-down-often" })).status, 200);
  });
});

test("prepare answers success when the rejected envelope is applied during the request and the contract therefore refuses", async () => {
  const card = newCard();
  const turnedDown: { xdr?: string } = {};
  let isArmed = false;
  const faults: NodeFaults = (init, ask) => {
    if (isArmed && JSON.parse(String(init.body)).method === "simulateTransaction") {
      isArmed = false;
      applyNow(card, turnedDown.xdr!);
    }
    return ask();
  };
  const of = await gatewayWith(faults);
  const { deviceHash, owner, agent } = card;
  const body = { source: owner.publicKey(), operation: { kind: "revokeDevice", deviceHash } };
  const prepare = () => asked("/v1/transactions/prepare", body, { key: "refused-just-then", of });
  const first = await prepare();
  turnedDown.xdr = first.body.xdr;
  await asked("/v1/transactions/submit", signed(first.body.xdr, agent), { key: "refused-just-then", of });
  await pass(6);
  isArmed = true;
  const again = await prepare();
  assert.equal(isArmed, false);
  assertDone(again, first);
});

test('prepare answers 502 "same" when the contract refuses now and the rejected envelope may still be applied', async () => {
  const card = newCard();
  const key = "refused-meanwhile";
  const prepare = () => asked("/v1/transactions/prepare", payment(card), { key });
  const first = await prepare();
  const turnedDown = await asked("/v1/transactions/submit", signed(first.body.xdr, card.owner), { key });
  assert.equal(turnedDown.status, 400);

  await move(card, "defundEscrow");
  const again = await prepare();
  await move(card, "fundEscrow");
  await applyElsewhere({ ...card, owner: card.agent }, first.body.xdr);
  assertDone(await prepare(), first);
  assert.deepEqual(
    [again.status, again.body.error.retry, again.headers.get("location")],
    [502, "same", `/v1/transactions/${first.body.hash}`],
    again.text,
  );
});

test('prepare answers 422 "never" when the contract refuses and the rejected envelope is past its time bound', async () => {
  const card = newCard();
  const key = "too-late";
  const prepare = () => asked("/v1/transactions/prepare", payment(card, "10000000001"), { key });
  await move(card, "fundEscrow", "1");
  const first = await prepare();
  await asked("/v1/transactions/submit", signed(first.body.xdr, card.owner), { key });
  await move(card, "defundEscrow", "1");
  assert.equal((await prepare()).status, 502);
  await pass(310);
  // Two answers must confirm the time.
  await prepare();
  await pass(3);
  const reported = await prepare();
  assert.deepEqual([reported.status, reported.body.error.retry], [422, "never"], reported.text);
});

describe("a fee bump of a transaction that was applied already", () => {
  test('does not get retry "prepare_again", which would repeat the operation', async () => {
    const card = newCard();
    const { body: { xdr, hash } } = await prepared(card, {});
    const first = await submitted(card, xdr);
    assert.equal(first.status, 200, first.text);
    const second = await asked("/v1/transactions/submit", bumped(card, xdr, 200_000));
    assert.notEqual(second.body.error?.retry, "prepare_again", `${hash} was applied: ${second.text}`);
  });

  test("gets the outcome, or the next prepare warns of the applied transaction", async () => {
    const card = newCard();
    const cut = await gatewayWith(cutAfterSubmit());
    const { body: { xdr, hash } } = await prepared(card, {});
    const lost = await submitted(card, xdr, { of: cut });
    assert.equal(lost.status, 502);
    await pass(6);
    // The caller assumes that the fee was too low, and bumps it.
    const bump = await asked("/v1/transactions/submit", bumped(card, xdr, 200_000), { of: other });
    const { body } = await prepared(card, { of: other });
    assert.ok(bump.status === 200 || body.warning?.includes(hash), `${bump.text}, and no warning`);
  });

  test('does not get retry "prepare_again" when the transaction was applied without the gateway', async () => {
    const card = newCard();
    const { body: { xdr } } = await prepared(card, {});
    await applyElsewhere(card, xdr);
    const second = await asked("/v1/transactions/submit", bumped(card, xdr, 200_000));
    assert.notEqual(second.body.error?.retry, "prepare_again", second.text);
  });
});

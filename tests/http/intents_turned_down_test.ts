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

/** Has a ledger apply it that another node had. */
function applyNow(card: Card, envelope: string): void {
  const { xdr } = signed(envelope, card.owner);
  stage.network.submit(TransactionBuilder.fromXdr(xdr, stage.network.passphrase).toEnvelope().toXdr());
  stage.network.closeLedger();
}

describe("prepare with an Idempotency-Key, of what the network turned down,", () => {
  test("gives another envelope with the same sequence number for one that the network turned down", async () => {
    const card = newCard();
    const first = await prepared(card, { key: "turned-down" });
    await turnDown(card, first.body.xdr, "turned-down");
    const { body: told } = await outcomeOf(first.body.hash);
    assert.deepEqual([told.status, told.ledger], ["rejected", undefined]);
    assert.match(told.error, /txBadAuth/);
    await pass(4);
    const second = await prepared(card, { key: "turned-down" });
    assert.notEqual(second.body.hash, first.body.hash);
    const sequenceOf = ({ body }: Answered) =>
      (TransactionBuilder.fromXdr(body.xdr, stage.network.passphrase) as { sequence: string }).sequence;
    assert.equal(sequenceOf(second), sequenceOf(first));
    // Who comes with the key again, and signs no more, is to know of it.
    assert.equal(second.body.replaces, first.body.hash);
    assert.equal((await prepared(card, { key: "turned-down" })).text, second.text);
    assert.equal((await submitted(card, second.body.xdr, { key: "turned-down" })).status, 200);
    assert.equal((await prepared(card, { key: "turned-down" })).body.replaces, undefined);
    // Rightly signed, and too late for that.
    assert.equal((await submitted(card, first.body.xdr)).body.error.transactionError, "txBadSeq");
  });

  test("never pays again for one that was turned down, had another in its place, and was applied all the same", async () => {
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

  test("is told what another gateway has told as applied, while this one reaches no node", async () => {
    const card = newCard();
    const first = await prepared(card, { key: "noted" });
    assert.equal((await submitted(card, first.body.xdr, { key: "noted", of: other })).status, 200);
    const silent: NodeFaults = () => Promise.reject(new TypeError("connection reset"));
    const cut = await gatewayWith(silent);
    assertDone(await prepared(card, { key: "noted", of: cut }), first);
  });

  test("is told what is known to be applied also when all nodes have forgotten what was handed out in its place", async () => {
    const card = newCard();
    const envelopes = [];
    for (let n = 0; n < 3; n++) {
      const { body } = await prepared(card, { key: "known" });
      await turnDown(card, body.xdr, "known");
      envelopes.push(body);
    }
    const { body: latest } = await prepared(card, { key: "known" });
    assert.equal(new Set([latest, ...envelopes].map(({ hash }) => hash)).size, 4);
    // Another node had the second one, which is asked for in time.
    const { hash, xdr } = envelopes[1];
    await applyElsewhere(card, xdr);
    const told = await outcomeOf(hash);
    assert.equal(told.body.status, "success");
    const late = await gatewayWith(forgetful);
    await pass(3_000);
    const again = await prepared(card, { key: "known", of: late });
    assert.deepEqual([again.status, again.body.hash, again.body.status], [200, hash, "success"], again.text);
    const more = await asked("/v1/transactions/submit", signed(latest.xdr, card.owner), { key: "known", of: late });
    assert.match(more.body.error.message, new RegExp(`belongs to transaction ${hash}, which the network has applied`));
  });

  test("puts nothing in the place of one that is applied just then", async () => {
    const card = newCard();
    let reads = Infinity;
    const turnedDown: { xdr?: string } = {};
    const faults: NodeFaults = (init, ask) => {
      const { method } = JSON.parse(String(init.body));
      // The first read of the account is for the fate of what was turned down, the second one for what takes its place.
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

  test("puts only so many in the place of what was turned down, and then the last until none may be applied", async () => {
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
    // That its time is over is confirmed by a second answer; where a ledger closes just then, by the one after.
    for (let answers = 0; answers < 2; answers++) {
      await prepared(card, { key: "turned-down-often" });
      await pass(2);
    }
    const fresh = await prepared(card, { key: "turned-down-often" });
    assert.ok(!hashes.includes(fresh.body.hash));
    assert.equal((await submitted(card, fresh.body.xdr, { key: "turned-down-often" })).status, 200);
  });
});

test("what is refused because the one that was turned down is applied just then is told as done", async () => {
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

test("what was turned down, and may be applied, is not told as refused for good because another would be refused now", async () => {
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

test("and is refused once it is too late for it", async () => {
  const card = newCard();
  const key = "too-late";
  const prepare = () => asked("/v1/transactions/prepare", payment(card, "10000000001"), { key });
  await move(card, "fundEscrow", "1");
  const first = await prepare();
  await asked("/v1/transactions/submit", signed(first.body.xdr, card.owner), { key });
  await move(card, "defundEscrow", "1");
  assert.equal((await prepare()).status, 502);
  await pass(310);
  // Two answers have to say how late it is.
  await prepare();
  await pass(3);
  const told = await prepare();
  assert.deepEqual([told.status, told.body.error.retry], [422, "never"], told.text);
});

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
    const cut = await gatewayWith(cutAfterSubmit());
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

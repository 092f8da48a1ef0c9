// needs: once
import { TransactionBuilder } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { type Store, WATCHER_LEASE } from "../../lib/store/store.ts";
import type { NodeFaults } from "../faults/node_faults.ts";
import { bentStore } from "../store/bent_store.ts";
import { sampleState } from "../store/samples.ts";
import { assertDone, assertKeyRefused, forgetful, startIntentCalls } from "./intents_stage.ts";

const calls = await startIntentCalls(12);
const { stage, other, newCard, pass, ask, asked, prepared, submitted } = calls;
const { outcomeOf, gatewayWith, move, payment, signed, bumped, turnDown, useSequence, applyElsewhere } = calls;
after(() => stage.close());

/** The envelope with its sequence number raised by `by`. */
function renumbered(xdr: string, by: bigint): string {
  const envelope = TransactionBuilder.fromXdr(xdr, stage.network.passphrase).toEnvelope();
  if (envelope.type !== "envelopeTypeTx") throw new TypeError(envelope.type);
  (envelope.v1.tx as { seqNum: bigint }).seqNum += by;
  return envelope.toXdr("base64");
}

describe("the intent rule", () => {
  test("never takes a client's own envelope for dead after the nodes forgot that it was applied (I1)", async () => {
    const card = newCard();
    const { body: { xdr, hash } } = await prepared(card, {});
    await applyElsewhere(card, xdr);
    const late = await gatewayWith(forgetful);
    const first = await submitted(card, xdr, { key: "own", of: late });
    assert.deepEqual([first.status, first.body.error.retry], [400, "never"], first.text);
    const again = await prepared(card, { key: "own", of: late });
    assert.deepEqual([again.status, again.body.error.retry], [400, "never"], again.text);
    assert.match(again.body.error.message, new RegExp(`transaction ${hash} stays unknown`));
    // A node that still has the transaction reports it.
    assert.equal((await prepared(card, { key: "own" })).body.status, "success");
  });

  test("accepts a client's own envelope after another payment used the first envelope's number (I2)", async () => {
    const card = newCard();
    const first = await prepared(card, { key: "overtaken" });
    await useSequence(card);
    const { body: { xdr, hash } } = await prepared(card, {});
    assert.notEqual(hash, first.body.hash);
    const done = await submitted(card, xdr, { key: "overtaken" });
    assert.deepEqual([done.status, done.body.hash], [200, hash], done.text);
    assert.equal((await prepared(card, { key: "overtaken" })).body.hash, hash);
  });

  test("refuses a client's own envelope whose number differs from the live one's (I3)", async () => {
    const card = newCard();
    const first = await prepared(card, { key: "two-numbers" });
    const refused = await submitted(card, renumbered(first.body.xdr, 1n), { key: "two-numbers" });
    const why = new RegExp(`belongs to transaction ${first.body.hash}, which the network may still apply`);
    assertKeyRefused(refused, why, "prepare_again");
    assert.equal((await prepared(card, { key: "two-numbers" })).text, first.text);
  });

  test("names the older applied transaction when the submit of its replacement is refused (I4)", async () => {
    const card = newCard();
    const first = await prepared(card, { key: "after-all" });
    await turnDown(card, first.body.xdr, "after-all");
    const second = await prepared(card, { key: "after-all" });
    await applyElsewhere(card, first.body.xdr);
    const refused = await submitted(card, second.body.xdr, { key: "after-all" });
    const why = new RegExp(`belongs to transaction ${first.body.hash}, which the network has applied`);
    assertKeyRefused(refused, why, "prepare_again");
    assertDone(await prepared(card, { key: "after-all" }), first);
  });

  test("counts a fee bump of the transaction that another party submitted (I11)", async () => {
    const card = newCard();
    const first = await prepared(card, { key: "their-bump" });
    const { xdr } = bumped(card, first.body.xdr, 200_000);
    stage.network.submit(TransactionBuilder.fromXdr(xdr, stage.network.passphrase).toEnvelope().toXdr());
    await pass(6);
    assertDone(await prepared(card, { key: "their-bump" }), first);
  });

  test("answers the other gateway's outcome when a gateway's write of its own decision is late (I12)", async () => {
    const card = newCard();
    const prepare = (of = other) => asked("/v1/transactions/prepare", payment(card), { key: "slept", of });
    const submit = (xdr: string) => asked("/v1/transactions/submit", signed(xdr, card.agent), { key: "slept" });
    // This transaction fails in a ledger.
    const failing = await prepare();
    await move(card, "defundEscrow");
    assert.equal((await submit(failing.body.xdr)).body.error.contractError, "InsufficientBalance");
    const set = (store: Store): Store["intents"]["set"] => async (...of) => {
      await stage.time.wait(60_000);
      return await store.intents.set(...of);
    };
    const slowly = (store: Store) => bentStore(store, { intents: { set: set(store) } });
    const slow = await gatewayWith(undefined, slowly);
    const late = ask("/v1/transactions/prepare", payment(card), { key: "slept", of: slow });
    await pass(6);
    await move(card, "fundEscrow");
    const { body: { xdr, hash } } = await prepare();
    assert.equal((await submit(xdr)).status, 200);
    const reported = await stage.time.until(late);
    assert.deepEqual(
      [reported.status, reported.body.hash, reported.body.status],
      [200, hash, "success"],
      reported.text,
    );
  });

  test("answers hash and ledger of an older applied envelope that no node has any more (I13)", async () => {
    const card = newCard();
    const first = await prepared(card, { key: "older" });
    await turnDown(card, first.body.xdr, "older");
    const second = await prepared(card, { key: "older" });
    assert.notEqual(second.body.hash, first.body.hash);
    await applyElsewhere(card, first.body.xdr);
    const { hash } = first.body;
    const { body: { ledger } } = await outcomeOf(hash);
    const late = await gatewayWith(forgetful);
    assert.deepEqual((await prepared(card, { key: "older", of: late })).body, { hash, status: "success", ledger });
  });

  test("makes two node calls for a first envelope, one for a repeat, and at most 33 besides the build", async () => {
    const card = newCard();
    let calls: string[] = [];
    const counting: NodeFaults = (init, answer) => {
      calls.push(JSON.parse(String(init.body)).method);
      return answer();
    };
    const of = await gatewayWith(counting);
    async function callsOf(key: string) {
      calls = [];
      const answer = await prepared(card, { key, of });
      assert.equal(answer.status, 200, answer.text);
      return { answer, calls };
    }
    // The first call also reads entries that all payments share.
    await callsOf("others");
    const first = await callsOf("counted");
    assert.deepEqual(first.calls.toSorted(), ["getLedgerEntries", "simulateTransaction"]);
    assert.deepEqual((await callsOf("counted")).calls, ["getLedgerEntries"]);
    let { answer } = first;
    for (let n = 1; n < 16; n++) {
      await turnDown(card, answer.body.xdr, "counted");
      answer = await prepared(card, { key: "counted", of });
    }
    await useSequence(card);
    const most = await callsOf("counted");
    assert.deepEqual(Map.groupBy(most.calls, (method) => method).get("getTransaction")?.length, 32);
    const rest = most.calls.filter((method) => method !== "getTransaction");
    assert.deepEqual(rest.toSorted(), ["getLedgerEntries", "getLedgerEntries", "simulateTransaction"]);
    assert.notEqual(most.answer.body.hash, answer.body.hash);
  });

  test("treats an explicit nonce as part of the request", async () => {
    const card = newCard();
    const { source, operation } = payment(card);
    const prepare = (nonce: string) =>
      asked("/v1/transactions/prepare", { source, operation: { ...operation, nonce } }, { key: "nonce" });
    const first = await prepare("7");
    assert.equal(first.body.operation.nonce, "7");
    assert.equal((await prepare("7")).text, first.text);
    assertKeyRefused(await prepare("8"));
  });

  // The last test, because it resets the network for all tests.
  test("keeps an intent when a new epoch begins (I6)", async () => {
    const card = newCard();
    const first = await prepared(card, { key: "epoch" });
    const { store } = stage;
    const lease = await store.leases.acquire({ name: WATCHER_LEASE, holder: "reset", durationMs: 1 });
    const { sequence: latestLedger, closeTime: latestLedgerCloseTime } = stage.network.latestLedger();
    const before = { ...sampleState(latestLedger), ...await store.events.watcherState() };
    const state = { ...before, latestLedger, latestLedgerCloseTime, epoch: before.epoch + 1 };
    await store.events.append({ lease: lease!, events: [], state });
    const { gateway: of } = await stage.time.until(stage.live());
    assert.equal((await prepared(card, { key: "epoch", of })).text, first.text);
  });
});

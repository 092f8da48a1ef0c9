// needs: once
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { NodeFaults } from "../faults/node_faults.ts";
import { bentStore } from "../store/bent_store.ts";
import { assertDone, assertKeyRefused, startIntentCalls } from "./intents_stage.ts";
import type { Store } from "../../lib/store/store.ts";

const calls = await startIntentCalls(16);
const { stage, gateway, other, newCard, pass, ask, asked, prepared } = calls;
const { submitted, outcomeOf, gatewayWith, move, funding, payment, signed, useSequence, applyElsewhere } = calls;
after(() => stage.close());

describe("prepare with an Idempotency-Key", () => {
  test("answers the same envelope byte for byte from every gateway while the network may apply it", async () => {
    const card = newCard();
    const first = await prepared(card, { key: "same" });
    assert.equal(first.status, 200);
    await pass(200);
    for (const at of [gateway, other, gateway]) {
      assert.equal((await prepared(card, { key: "same", of: at })).text, first.text);
    }
    assert.notEqual((await prepared(card, {})).body.hash, first.body.hash);
    assert.notEqual((await prepared(card, { key: "other" })).body.hash, first.body.hash);
  });

  test("answers the same envelope with status success and its ledger after it was applied, two hours later too", async () => {
    const card = newCard();
    const first = await prepared(card, { key: "applied" });
    assert.equal((await submitted(card, first.body.xdr)).status, 200);
    const again = await prepared(card, { key: "applied", of: other });
    assertDone(again, first);
    await pass(7_200);
    assert.equal((await prepared(card, { key: "applied" })).text, again.text);
  });

  test("answers a new envelope only after a ledger closed after the old envelope's time bound", async () => {
    const card = newCard();
    const first = await prepared(card, { key: "late" });
    await pass(first.body.validUntil - stage.time.now() / 1_000 - 1);
    assert.equal((await prepared(card, { key: "late" })).text, first.text);
    await pass(15);
    // A close time counts only after a second answer confirms it.
    await prepared(card, { key: "late" });
    await pass(2);
    const second = await prepared(card, { key: "late" });
    assert.notEqual(second.body.hash, first.body.hash);
    assert.equal((await prepared(card, { key: "late", of: other })).text, second.text);
    assert.equal((await submitted(card, first.body.xdr)).body.error.transactionError, "txTooLate");
    assert.equal((await submitted(card, second.body.xdr)).status, 200);
  });

  test("keeps its envelope when single node answers give a close time long after its time bound", async () => {
    const card = newCard();
    let lies = 0;
    const faults: NodeFaults = async (init, ask) => {
      const response = await ask();
      if (JSON.parse(String(init.body)).method !== "getTransaction" || lies++ > 0) return response;
      const answer = await response.json();
      answer.result.latestLedgerCloseTime = String(Number(answer.result.latestLedgerCloseTime) + 4_000);
      return Response.json(answer);
    };
    const misled = await gatewayWith(faults);
    const first = await prepared(card, { key: "misled" });
    for (let n = 0; n < 4; n++) {
      await outcomeOf(first.body.hash, { of: misled });
      assert.equal((await prepared(card, { key: "misled", of: misled })).text, first.text);
      await pass(1);
    }
    assert.ok(lies > 1);
  });

  test("answers a new envelope at once when another transaction used its sequence number", async () => {
    const card = newCard();
    const first = await prepared(card, { key: "taken" });
    await useSequence(card);
    const second = await prepared(card, { key: "taken" });
    assert.notEqual(second.body.hash, first.body.hash);
    assert.equal((await submitted(card, first.body.xdr)).body.error.transactionError, "txBadSeq");
    assert.equal((await prepared(card, { key: "taken" })).text, second.text);
    assert.equal((await submitted(card, second.body.xdr)).status, 200);
  });

  test("asks the node again when one answer does not know an applied transaction", async () => {
    const card = newCard();
    let lies = 0;
    const faults: NodeFaults = async (init, ask) => {
      const response = await ask();
      const { method, params } = JSON.parse(String(init.body));
      const answer = await response.json();
      if (method === "getTransaction" && answer.result.status === "SUCCESS" && lies++ === 0) {
        answer.result = { ...answer.result, status: "NOT_FOUND", txHash: params.hash };
      }
      return Response.json(answer);
    };
    const lying = await gatewayWith(faults);
    const first = await prepared(card, { key: "lie" });
    const { hash, xdr } = first.body;
    await applyElsewhere(card, xdr);
    assert.equal(stage.network.transaction(hash)?.successful, true);
    assertDone(await prepared(card, { key: "lie", of: lying }), first);
    assert.equal(lies, 2);
  });

  test("answers a new envelope after the first one failed in a ledger", async () => {
    const card = newCard();
    const prepare = () => asked("/v1/transactions/prepare", payment(card), { key: "failed" });
    const submit = (xdr: string) => asked("/v1/transactions/submit", signed(xdr, card.agent), { key: "failed" });
    const first = await prepare();
    await move(card, "defundEscrow");
    assert.equal((await submit(first.body.xdr)).body.error.contractError, "InsufficientBalance");
    assert.equal((await prepare()).body.error.contractError, "InsufficientBalance");
    await move(card, "fundEscrow", "7");
    const second = await prepare();
    assert.notEqual(second.body.operation.nonce, first.body.operation.nonce);
    assert.equal((await submit(second.body.xdr)).status, 200);
  });

  test("refuses another body with the same key and names the header; another API key may use the same value", async () => {
    const card = newCard();
    await prepared(card, { key: "mine" });
    const refused = await prepared(card, { key: "mine" }, "8");
    assertKeyRefused(refused, /Idempotency-Key "mine" belongs to another request/);
    const apiKey = await stage.newKey(["write"]);
    assert.equal((await prepared(card, { key: "mine", apiKey }, "8")).status, 200);
  });

  test("accepts the same body with another order of fields and another case of hex digits", async () => {
    const card = newCard();
    const first = await prepared(card, { key: "written" });
    const { source, operation: { kind, deviceHash, asset, amount } } = funding(card);
    const turned = { operation: { amount, asset, deviceHash: deviceHash.toUpperCase(), kind }, source };
    assert.equal((await asked("/v1/transactions/prepare", turned, { key: "written" })).text, first.text);
  });

  test("refuses an invalid key", async () => {
    const card = newCard();
    for (const key of ["", "a b", "x".repeat(256), "schlüssel"]) {
      assertKeyRefused(await prepared(card, { key }));
    }
    assert.equal((await prepared(card, { key: "!".repeat(255) })).status, 200);
  });

  test("answers one envelope to twelve simultaneous requests on two gateways", async () => {
    const card = newCard();
    const all = Array.from(
      { length: 12 },
      (_, n) => ask("/v1/transactions/prepare", funding(card), { key: "at-once", of: n % 2 ? gateway : other }),
    );
    const answers = await stage.time.until(Promise.all(all));
    assert.deepEqual(new Set(answers.map(({ text }) => text)).size, 1, answers.map(({ text }) => text).join("\n"));
    assert.equal(answers[0]!.status, 200);
  });

  test("answers the stored envelope of another gateway when its own write to the store is late", async () => {
    const card = newCard();
    let isSlow = true;
    // The first gateway has its envelope, but writes it to the store 60 s later.
    const set = (store: Store): Store["intents"]["set"] => async (...of) => {
      if (isSlow) await stage.time.wait(60_000);
      isSlow = false;
      return await store.intents.set(...of);
    };
    const slowly = (store: Store) => bentStore(store, { intents: { set: set(store) } });
    const slow = await gatewayWith(undefined, slowly);
    const late = ask("/v1/transactions/prepare", funding(card), { key: "slow", of: slow });
    await pass(1);
    const first = await prepared(card, { key: "slow" });
    assert.equal(first.status, 200);
    assert.equal((await stage.time.until(late)).text, first.text);
    assert.equal(isSlow, false);
  });

  test("accepts a corrected body with the same key after it refused the first one", async () => {
    const card = newCard();
    const refused = await prepared(card, { key: "corrected" }, "99999999999999");
    assert.equal(refused.status, 422, refused.text);
    assert.equal((await prepared(card, { key: "corrected" })).status, 200);
  });
});

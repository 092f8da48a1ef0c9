import { TransactionBuilder } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { NodeFaults } from "../faults/node_faults.ts";
import { bentStore } from "../store/bent_store.ts";
import { type Answered, startIntentCalls } from "./intents_stage.ts";

const {
  stage,
  gateway,
  other,
  newCard,
  pass,
  ask,
  asked,
  funding,
  prepared,
  submitted,
  signed,
  useSequence,
  applyElsewhere,
  leaveClaim,
} = await startIntentCalls(22);
after(() => stage.close());

describe("prepare with an Idempotency-Key", () => {
  test("answers the same envelope byte for byte while it may be applied, from every gateway on the store", async () => {
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

  test("says that it was applied, wherever it was submitted, for as long as the key is kept", async () => {
    const card = newCard();
    const first = await prepared(card, { key: "applied" });
    assert.equal((await submitted(card, first.body.xdr)).status, 200);
    const again = await prepared(card, { key: "applied", of: other });
    assert.deepEqual(again.body, { ...first.body, status: "success" });
    assert.equal(again.text, `${first.text.slice(0, -1)},"status":"success"}`);
    await pass(7_200);
    assert.equal((await prepared(card, { key: "applied" })).text, again.text);
  });

  test("prepares anew once a ledger has closed after the time bound, and not before", async () => {
    const card = newCard();
    const first = await prepared(card, { key: "late" });
    await pass(first.body.validUntil - stage.time.now() / 1_000 - 1);
    assert.equal((await prepared(card, { key: "late" })).text, first.text);
    await pass(15);
    // What closed is believed when it was heard of twice.
    await prepared(card, { key: "late" });
    await pass(2);
    const second = await prepared(card, { key: "late" });
    assert.notEqual(second.body.hash, first.body.hash);
    assert.equal((await prepared(card, { key: "late", of: other })).text, second.text);
    assert.equal((await submitted(card, first.body.xdr)).body.error.transactionError, "txTooLate");
    assert.equal((await submitted(card, second.body.xdr)).status, 200);
  });

  test("does not believe one answer that a ledger has closed long after the time bound", async () => {
    const card = newCard();
    let lies = 0;
    const faults: NodeFaults = async (init, ask) => {
      const response = await ask();
      if (JSON.parse(String(init.body)).method !== "getTransaction" || lies++ > 0) return response;
      const answer = await response.json();
      answer.result.latestLedgerCloseTime = String(Number(answer.result.latestLedgerCloseTime) + 4_000);
      return Response.json(answer);
    };
    const { gateway: misled } = await stage.time.until(stage.live(Infinity, faults));
    const first = await prepared(card, { key: "misled" });
    for (let n = 0; n < 4; n++) {
      assert.equal((await prepared(card, { key: "misled", of: misled })).text, first.text);
      await pass(1);
    }
    assert.ok(lies > 1);
  });

  test("prepares anew at once when another transaction has taken its sequence number", async () => {
    const card = newCard();
    const first = await prepared(card, { key: "taken" });
    await useSequence(card);
    const second = await prepared(card, { key: "taken" });
    assert.notEqual(second.body.hash, first.body.hash);
    assert.equal((await submitted(card, first.body.xdr)).body.error.transactionError, "txBadSeq");
    assert.equal((await prepared(card, { key: "taken" })).text, second.text);
    assert.equal((await submitted(card, second.body.xdr)).status, 200);
  });

  test("is not misled by a node that says once that it does not know what it applied", async () => {
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
    const { gateway: lying } = await stage.time.until(stage.live(Infinity, faults));
    const first = await prepared(card, { key: "lie" });
    const { hash, xdr } = first.body;
    await applyElsewhere(card, xdr);
    assert.equal(stage.network.transaction(hash)?.successful, true);
    assert.deepEqual((await prepared(card, { key: "lie", of: lying })).body, { ...first.body, status: "success" });
    assert.equal(lies, 2);
  });

  test("prepares anew what failed in a ledger", async () => {
    const card = newCard();
    const { agent, owner, deviceHash } = card;
    const defund = {
      source: owner.publicKey(),
      operation: { kind: "defundEscrow", deviceHash, asset: stage.asset, amount: "10000000000" },
    };
    const payment = { kind: "authorize", deviceHash, merchant: owner.publicKey(), asset: stage.asset, amount: "7" };
    const request = { source: agent.publicKey(), operation: payment };
    const first = await asked("/v1/transactions/prepare", request, { key: "failed" });
    const emptied = await asked("/v1/transactions/prepare", defund);
    assert.equal((await submitted(card, emptied.body.xdr)).status, 200);
    const refused = await asked("/v1/transactions/submit", signed(first.body.xdr, agent), { key: "failed" });
    assert.equal(refused.body.error.contractError, "InsufficientBalance");
    assert.equal(
      (await asked("/v1/transactions/prepare", request, { key: "failed" })).body.error.contractError,
      "InsufficientBalance",
    );
    await prepared(card, {}).then(({ body }) => submitted(card, body.xdr));
    const second = await asked("/v1/transactions/prepare", request, { key: "failed" });
    assert.notEqual(second.body.operation.nonce, first.body.operation.nonce);
    assert.equal(
      (await asked("/v1/transactions/submit", signed(second.body.xdr, agent), { key: "failed" })).status,
      200,
    );
  });

  test("gives another envelope with the same sequence number for one that the network turned down", async () => {
    const card = newCard();
    const first = await prepared(card, { key: "turned down".replace(" ", "-") });
    const unsigned = await asked("/v1/transactions/submit", signed(first.body.xdr, card.agent), { key: "turned-down" });
    assert.equal(unsigned.body.error.transactionError, "txBadAuth");
    const { body: told } = await asked(`/v1/transactions/${first.body.hash}`, undefined, { method: "GET" });
    assert.deepEqual([told.status, told.ledger], ["rejected", undefined]);
    assert.match(told.error, /txBadAuth/);
    await pass(10);
    const second = await prepared(card, { key: "turned-down" });
    assert.notEqual(second.body.hash, first.body.hash);
    const sequenceOf = ({ body }: Answered) =>
      (TransactionBuilder.fromXdr(body.xdr, stage.network.passphrase) as { sequence: string }).sequence;
    assert.equal(sequenceOf(second), sequenceOf(first));
    assert.equal((await submitted(card, second.body.xdr, { key: "turned-down" })).status, 200);
    // Rightly signed, and too late for that.
    assert.equal((await submitted(card, first.body.xdr)).body.error.transactionError, "txBadSeq");
  });

  test("never pays again for one that was turned down, had another in its place, and was applied all the same", async () => {
    const card = newCard();
    const first = await prepared(card, { key: "taken-in" });
    for (let n = 0; n < 3; n++) {
      const { body } = await prepared(card, { key: "taken-in" });
      const refused = await asked("/v1/transactions/submit", signed(body.xdr, card.agent), { key: "taken-in" });
      assert.equal(refused.body.error.transactionError, "txBadAuth");
      await pass(6);
    }
    // Another node had it.
    await applyElsewhere(card, first.body.xdr);
    for (const one of [gateway, other]) {
      const again = await prepared(card, { key: "taken-in", of: one });
      assert.equal(again.text, `${first.text.slice(0, -1)},"status":"success"}`);
    }
  });

  test("is told what another gateway has noted as applied, while this one's node does not show that ledger", async () => {
    const card = newCard();
    const first = await prepared(card, { key: "noted" });
    await asked("/v1/transactions/submit", signed(first.body.xdr, card.agent), { key: "noted" });
    await pass(6);
    assert.notEqual((await prepared(card, { key: "noted" })).body.hash, first.body.hash);
    await stage.store.submissions.recordOutcome(first.body.hash, { status: "success", ledger: 1_000_000 });
    const again = await prepared(card, { key: "noted" });
    assert.equal(again.text, `${first.text.slice(0, -1)},"status":"success"}`);
  });

  test("is told what is known to be applied also when all nodes have forgotten what was handed out in its place", async () => {
    const card = newCard();
    const envelopes = [];
    for (let n = 0; n < 3; n++) {
      const { body } = await prepared(card, { key: "known" });
      await asked("/v1/transactions/submit", signed(body.xdr, card.agent), { key: "known" });
      envelopes.push(body);
      await pass(6);
    }
    const { body: latest } = await prepared(card, { key: "known" });
    assert.equal(new Set([latest, ...envelopes].map(({ hash }) => hash)).size, 4);
    // Another node had the second one, which is asked for in time.
    const { hash, xdr } = envelopes[1];
    await applyElsewhere(card, xdr);
    const told = await asked(`/v1/transactions/${hash}`, undefined, { method: "GET" });
    assert.equal(told.body.status, "success");
    const faults: NodeFaults = async (init, ask) => {
      const answer = await (await ask()).json();
      const { method, params } = JSON.parse(String(init.body));
      if (method !== "getTransaction") return Response.json(answer);
      const { latestLedger, latestLedgerCloseTime } = answer.result;
      const oldest = { oldestLedger: latestLedger, oldestLedgerCloseTime: latestLedgerCloseTime };
      const stamp = { latestLedger, latestLedgerCloseTime, ...oldest };
      return Response.json({ ...answer, result: { status: "NOT_FOUND", txHash: params.hash, ...stamp } });
    };
    const { gateway: late } = await stage.time.until(stage.live(Infinity, faults));
    await pass(3_000);
    const again = await prepared(card, { key: "known", of: late });
    assert.deepEqual([again.status, again.body.hash, again.body.status], [200, hash, "success"], again.text);
    const more = await asked("/v1/transactions/submit", signed(latest.xdr, card.owner), { key: "known", of: late });
    assert.match(more.body.error.message, new RegExp(`used for transaction ${hash}, which was applied`));
  });

  test("puts nothing in the place of one that is applied just then", async () => {
    const card = newCard();
    let reads = Infinity;
    const turnedDown: { xdr?: string } = {};
    const faults: NodeFaults = (init, ask) => {
      const { method } = JSON.parse(String(init.body));
      // The first read of the account is for the fate of what was turned down, the second one for what takes its place.
      if (method === "getLedgerEntries" && --reads === 0) {
        const { xdr } = signed(turnedDown.xdr!, card.owner);
        stage.network.submit(TransactionBuilder.fromXdr(xdr, stage.network.passphrase).toEnvelope().toXdr());
        stage.network.closeLedger();
      }
      return ask();
    };
    const { gateway: unlucky } = await stage.time.until(stage.live(Infinity, faults));
    const first = await prepared(card, { key: "just-then", of: unlucky });
    turnedDown.xdr = first.body.xdr;
    await asked("/v1/transactions/submit", signed(first.body.xdr, card.agent), { key: "just-then", of: unlucky });
    await pass(6);
    reads = 2;
    const again = await prepared(card, { key: "just-then", of: unlucky });
    assert.ok(reads <= 0);
    assert.equal(again.text, `${first.text.slice(0, -1)},"status":"success"}`);
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

  test("refuses another body with the same key, naming the header, and takes it from another API key", async () => {
    const card = newCard();
    await prepared(card, { key: "mine" });
    const { status, body } = await prepared(card, { key: "mine" }, "8");
    assert.equal(status, 400);
    assert.deepEqual([body.error.code, body.error.param], ["invalid_request", "Idempotency-Key"]);
    assert.match(body.error.message, /Idempotency-Key "mine" was used for another request/);
    const apiKey = await stage.newKey(["write"]);
    assert.equal((await prepared(card, { key: "mine", apiKey }, "8")).status, 200);
  });

  test("takes the same body however it is written", async () => {
    const card = newCard();
    const first = await prepared(card, { key: "written" });
    const { source, operation: { kind, deviceHash, asset, amount } } = funding(card);
    const turned = { operation: { amount, asset, deviceHash: deviceHash.toUpperCase(), kind }, source };
    assert.equal((await asked("/v1/transactions/prepare", turned, { key: "written" })).text, first.text);
  });

  test("refuses a key that is none", async () => {
    const card = newCard();
    for (const key of ["", "a b", "x".repeat(256), "schlüssel"]) {
      const { status, body } = await prepared(card, { key });
      assert.deepEqual([status, body.error.param], [400, "Idempotency-Key"], key);
    }
    assert.equal((await prepared(card, { key: "!".repeat(255) })).status, 200);
  });

  test("of many at the same moment, on two gateways, all answer one envelope", async () => {
    const card = newCard();
    const all = Array.from(
      { length: 12 },
      (_, n) => ask("/v1/transactions/prepare", funding(card), { key: "at-once", of: n % 2 ? gateway : other }),
    );
    const answers = await stage.time.until(Promise.all(all));
    assert.deepEqual(new Set(answers.map(({ text }) => text)).size, 1, answers.map(({ text }) => text).join("\n"));
    assert.equal(answers[0]!.status, 200);
  });

  test("waits for whoever is at it, answers 409 when that takes long, and goes on once a killed one's claim is over", async () => {
    const card = newCard();
    await leaveClaim("prepare", "killed", 25_000);
    const { status, headers, body } = await prepared(card, { key: "killed" });
    assert.deepEqual([status, body.error.retry, body.error.param], [409, "same", "Idempotency-Key"]);
    const retryAfter = Number(headers.get("retry-after"));
    assert.ok(retryAfter >= 1 && retryAfter <= 25, String(retryAfter));
    await pass(retryAfter);
    assert.equal((await prepared(card, { key: "killed" })).status, 200);
    await leaveClaim("prepare", "short", 3_000);
    assert.equal((await prepared(card, { key: "short" })).status, 200);
  });

  test("never answers an envelope that is not in the store: who was slow tells what another came to", async () => {
    const card = newCard();
    let isSlow = true;
    // The first one has its envelope, and is not heard of for a while.
    const slowly = (store: typeof stage.store) =>
      bentStore(store, {
        intents: {
          async complete(...of) {
            if (isSlow) await stage.time.wait(60_000);
            isSlow = false;
            return await store.intents.complete(...of);
          },
        },
      });
    const { gateway: slow } = await stage.time.until(stage.live(Infinity, undefined, slowly));
    const late = ask("/v1/transactions/prepare", funding(card), { key: "slow", of: slow });
    await pass(40);
    const first = await prepared(card, { key: "slow" });
    assert.equal(first.status, 200);
    assert.equal((await stage.time.until(late)).text, first.text);
  });

  test("takes a body that was not to be prepared as never asked for", async () => {
    const card = newCard();
    const refused = await prepared(card, { key: "corrected" }, "99999999999999");
    assert.equal(refused.status, 422, refused.text);
    assert.equal((await prepared(card, { key: "corrected" })).status, 200);
  });
});

// needs: once
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { type Asking, assertKeyRefused, cutAfterSubmit, forgetful, startIntentCalls } from "./intents_stage.ts";
import { bending } from "../webhooks/parts.ts";

const calls = await startIntentCalls(10);
const { stage, gateway, other, newCard, pass, ask, asked, prepared, submitted } = calls;
const { outcomeOf, gatewayWith, funding, signed, bumped, digestOf, turnDown, useSequence, applyElsewhere } = calls;
after(() => stage.close());

describe("submit with an Idempotency-Key", () => {
  test("repeats its answer for the same transaction, and refuses another transaction", async () => {
    const card = newCard();
    const [first, second] = [await prepared(card, {}), await prepared(card, {}, "8")];
    const done = await submitted(card, first.body.xdr, { key: "pay" });
    assert.equal(done.status, 200, done.text);
    for (const at of [gateway, other]) {
      assert.equal((await submitted(card, first.body.xdr, { key: "pay", of: at })).text, done.text);
    }
    const why = new RegExp(`belongs to transaction ${first.body.hash}, which the network has applied`);
    assertKeyRefused(await submitted(card, second.body.xdr, { key: "pay" }), why, "prepare_again");
  });

  test("refuses another transaction after a rejected and replaced one was applied", async () => {
    const card = newCard();
    const turnedDown = [];
    for (let n = 0; n < 3; n++) {
      const { body } = await prepared(card, {});
      await turnDown(card, body.xdr, "elsewhere");
      turnedDown.push(body);
    }
    await applyElsewhere(card, turnedDown[0].xdr);
    const fresh = await prepared(card, {});
    const why = new RegExp(`belongs to transaction ${turnedDown[0].hash}, which the network has applied`);
    assertKeyRefused(await submitted(card, fresh.body.xdr, { key: "elsewhere", of: other }), why);
    assert.equal((await submitted(card, turnedDown[0].xdr, { key: "elsewhere" })).status, 200);
  });

  test("accepts the replacement of a rejected envelope, also while another worker resubmits the rejected one", async () => {
    const card = newCard();
    const first = await prepared(card, { key: "again" });
    await turnDown(card, first.body.xdr, "again");
    const second = await prepared(card, { key: "again" });
    // Another worker resubmitted the first envelope and was killed before it learned the outcome.
    const { hash, validUntil } = first.body;
    await stage.store.submissions.record({ hash, validUntil, submittedAtMs: stage.time.now() });
    const another = await submitted(card, (await prepared(card, {}, "8")).body.xdr, { key: "again" });
    assertKeyRefused(
      another,
      new RegExp(`belongs to transaction ${second.body.hash}, which the network may still apply`),
    );
    assert.equal((await prepared(card, { key: "again" })).body.hash, second.body.hash);
    const done = await submitted(card, second.body.xdr, { key: "again" });
    assert.deepEqual([done.status, done.body.hash], [200, second.body.hash]);
    assert.equal((await prepared(card, { key: "again" })).body.status, "success");
  });

  test("repeats the outcome after the node forgot it, as GET does for a key with scope read or write", async () => {
    const card = newCard();
    const { body: { xdr, hash } } = await prepared(card, {});
    const done = await submitted(card, xdr, { key: "forgotten" });
    const late = await gatewayWith(forgetful);
    await pass(3_000);
    const again = await submitted(card, xdr, { key: "forgotten", of: late });
    assert.deepEqual([again.status, again.text], [200, done.text]);
    assert.deepEqual((await submitted(card, xdr, { of: late })).text, done.text);
    for (const scope of ["read", "write"] as const) {
      const apiKey = await stage.newKey([scope]);
      const reported = await outcomeOf(hash, { apiKey, of: late });
      assert.deepEqual(reported.body, { hash, status: "success", ledger: done.body.ledger });
    }
    // The gateway has no record of this one, and its sequence number is used: it must not answer "prepare_again".
    const unknown = await prepared(card, {});
    await useSequence(card);
    await pass(3_000);
    const { body } = await submitted(card, unknown.body.xdr, { of: late });
    assert.match(body.error.message, /its outcome is no longer known/);
    assert.equal(body.error.retry, "never");
  });

  test("accepts another fee bump of the same transaction with the same key", async () => {
    const card = newCard();
    const { body: { xdr, hash } } = await prepared(card, { key: "bumped" });
    const first = await asked("/v1/transactions/submit", bumped(card, xdr, 200_000), { key: "bumped" });
    assert.equal(first.status, 200, first.text);
    assert.notEqual(first.body.hash, hash);
    const inner = await outcomeOf(hash);
    assert.deepEqual(inner.body, { hash, status: "success", ledger: first.body.ledger });
    assert.equal((await prepared(card, { key: "bumped" })).body.status, "success");
    const second = await asked("/v1/transactions/submit", bumped(card, xdr, 300_000), { key: "bumped" });
    assert.deepEqual([second.status, second.body.ledger], [200, first.body.ledger], second.text);
  });
});

describe("prepare without an Idempotency-Key", () => {
  test("warns with the hash of a submitted transaction of the same operation whose outcome no caller received", async () => {
    const card = newCard();
    const cut = await gatewayWith(cutAfterSubmit());
    const { body: { xdr, hash } } = await prepared(card, {});
    const lost = await submitted(card, xdr, { of: cut });
    assert.deepEqual([lost.status, lost.headers.get("location")], [502, `/v1/transactions/${hash}`]);
    await pass(6);
    const { body } = await prepared(card, { of: other });
    assert.match(body.warning, new RegExp(`${hash}, .* was applied in ledger \\d+: ask GET /v1/transactions/${hash} `));
    assert.equal((await prepared(card, { key: "warned-not" })).body.warning, undefined);
    // The warning may be lost, too.
    assert.equal((await prepared(card, {})).body.warning, body.warning);
    assert.equal((await outcomeOf(hash)).body.status, "success");
    assert.equal((await prepared(card, { of: other })).body.warning, undefined);
  });

  test("warns of a transaction that was applied after its caller disconnected, until a caller receives its outcome", async () => {
    const card = newCard();
    const { body: { xdr, hash } } = await prepared(card, {});
    const leaving = new AbortController();
    const submit = ask("/v1/transactions/submit", signed(xdr, card.owner), { signal: leaving.signal });
    await pass(0.06);
    leaving.abort();
    assert.equal((await stage.time.until(submit)).status, 200);
    await pass(3);
    const { body } = await prepared(card, { of: other });
    assert.match(body.warning, new RegExp(`${hash}, .* was applied in ledger \\d+: ask GET /v1/transactions/${hash} `));
    assert.equal((await submitted(card, xdr, { of: other })).status, 200);
    assert.equal((await prepared(card, {})).body.warning, undefined);
  });

  test("warns of a transaction that may still be applied, but only for the same operation", async () => {
    const card = newCard();
    const { body: { hash, validUntil } } = await prepared(card, {});
    const { source } = funding(card);
    const submittedAtMs = stage.time.now();
    await stage.store.submissions.record({ hash, validUntil, submittedAtMs, source, operation: digestOf(card) });
    const { body } = await prepared(card, {});
    assert.match(body.warning, new RegExp(`${hash}, and its outcome is not known: ask GET /v1/transactions/${hash} `));
    assert.equal((await prepared(card, {}, "8")).body.warning, undefined);
  });
});

describe("the creation of a webhook with an Idempotency-Key", () => {
  const wanted = (name: string) => ({ url: `http://127.0.0.1:9/${name}`, types: ["escrow.funded"] });
  const created = (body: unknown, asking: Asking) => asked("/v1/webhooks", body, asking);
  const heldBy = (apiKey: string) => asked("/v1/webhooks", undefined, { apiKey, method: "GET" });

  test("repeats the same subscription with its secret byte for byte, and creates only one", async () => {
    const apiKey = await stage.newKey(["webhooks"]);
    const first = await created(wanted("a"), { key: "hook", apiKey });
    assert.equal(first.status, 201, first.text);
    assert.match(first.body.secret, /^whsec_/);
    const more = Array.from(
      { length: 6 },
      (_, n) => ask("/v1/webhooks", wanted("a"), { key: "hook", apiKey, of: n % 2 ? gateway : other }),
    );
    for (const again of await stage.time.until(Promise.all(more))) {
      assert.deepEqual([again.status, again.text], [201, first.text]);
    }
    const { body } = await heldBy(apiKey);
    assert.deepEqual(body.webhooks.map(({ id }: { id: string }) => id), [first.body.id]);
    assertKeyRefused(await created(wanted("b"), { key: "hook", apiKey }));
  });

  test("answers 404 when the first write is late and the owner deleted the webhook meanwhile", async () => {
    const apiKey = await stage.newKey(["webhooks"]);
    let goesOn = () => {};
    const slow = bending("subscriptions", "insert", async (insert, ...of) => {
      await new Promise<void>((resolve) => goesOn = resolve);
      return await insert(...of);
    });
    const slept = await gatewayWith(undefined, slow);
    const late = ask("/v1/webhooks", wanted("a"), { key: "late", apiKey, of: slept });
    await pass(31);
    const { body } = await created(wanted("a"), { key: "late", apiKey });
    await asked(`/v1/webhooks/${body.id}`, undefined, { apiKey, method: "DELETE" });
    goesOn();
    const { status, text } = await stage.time.until(late);
    assert.equal(status, 404, text);
    assert.match(text, /is deleted: use a new key/);
    const held = await heldBy(apiKey);
    assert.deepEqual(held.body.webhooks, []);
  });
});

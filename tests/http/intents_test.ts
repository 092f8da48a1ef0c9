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
  test("answers the same transaction as the first time, and refuses another while the first may be applied", async () => {
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

  test("refuses another once one is applied that was turned down and had others in its place", async () => {
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

  test("takes what prepare made in the place of one that was turned down, also while that one is being sent again", async () => {
    const card = newCard();
    const first = await prepared(card, { key: "again" });
    await turnDown(card, first.body.xdr, "again");
    const second = await prepared(card, { key: "again" });
    // Another worker sent the first again, and was killed before it was told what came of it.
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

  test("repeats how it ended when the node has forgotten, and so does GET, for a key that may read or write", async () => {
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
      const told = await outcomeOf(hash, { apiKey, of: late });
      assert.deepEqual(told.body, { hash, status: "success", ledger: done.body.ledger });
    }
    // Nothing is noted of this one, and its sequence number is used: then nobody says that it may be prepared again.
    const unknown = await prepared(card, {});
    await useSequence(card);
    await pass(3_000);
    const { body } = await submitted(card, unknown.body.xdr, { of: late });
    assert.match(body.error.message, /its outcome is no longer known/);
    assert.equal(body.error.retry, "never");
  });

  test("is one intent whatever pays the fee: another fee bump of the same transaction goes with the same key", async () => {
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
  test("says which transaction to ask for when the same operation was sent and nobody was told how it ended", async () => {
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

  test("says so of what was applied after its caller had left, until somebody is told", async () => {
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

  test("warns of what may still be applied, and of the same operation only", async () => {
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

  test("answers the same subscription with its secret, byte for byte, and makes no second one", async () => {
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

  test("whoever was slow does not make again what another made and its owner deleted", async () => {
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

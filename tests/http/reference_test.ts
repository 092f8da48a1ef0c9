// needs: once
import { Keypair, type Transaction, TransactionBuilder } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { test } from "node:test";
import { signed } from "../e2e/client.ts";
import { until } from "../until.ts";
import { eventsOf, openStream } from "./event_stream.ts";
import { assertInvalid } from "./test_gateway.ts";
import { api, arrived, get, key, newWebhook, on, post, receiver, remove, startWebhookStage } from "./webhook_stage.ts";

startWebhookStage();

let cards = 0;
const registering = () => ({
  source: on.sandbox.accounts.owner.address,
  operation: {
    kind: "registerDevice",
    deviceHash: (cards++).toString(16).padStart(64, "e"),
    agent: on.sandbox.accounts.agent.address,
  },
});

const prepare = (body: object, { as = key, named }: { as?: string; named?: string } = {}) =>
  api.request("POST", "/v1/transactions/prepare", {
    key: as,
    body,
    headers: named === undefined ? {} : { "idempotency-key": named },
  });

const signedByOwner = (body: { xdr: string; networkPassphrase: string }) =>
  signed(body.xdr, body.networkPassphrase, on.sandbox.accounts.owner.secret);

/** Prepares and submits a registration; returns the transaction's hash. */
async function registered(reference: string, { submitter = key } = {}): Promise<string> {
  const { status, body } = await prepare({ ...registering(), reference });
  assert.equal(status, 200, JSON.stringify(body));
  const submitted = await post("/v1/transactions/submit", { xdr: signedByOwner(body) }, submitter);
  assert.equal(submitted.status, 200, JSON.stringify(submitted.body));
  return body.hash;
}

/** The events of a transaction, as a key sees them, once the log has them. */
const eventsAs = (as: string, txHash: string) =>
  until(async () => {
    const { body } = await get(`/v1/events?txHash=${txHash}`, as);
    return body.events.length > 0 ? body.events : undefined;
  });

test("the API key that prepared sees the reference in events, whoever submits, and other keys do not", async () => {
  const other = await api.newKey();
  const hash = await registered("order 1042", { submitter: other });
  for (const [as, reference] of [[key, "order 1042"], [other, undefined]] as const) {
    const [event] = await eventsAs(as, hash);
    assert.equal(event.reference, reference);
    assert.equal("reference" in event, reference !== undefined);
    assert.deepEqual((await get(`/v1/events/${event.id}`, as)).body, event);
    const stream = await openStream(api, `?txHash=${hash}`, { key: as });
    assert.deepEqual(eventsOf(await stream.until("caught_up")).map(({ data }) => data), [event]);
    await stream.close();
  }
});

test("an export has the reference for its key alone, and as no formula", async () => {
  const hash = await registered('=SUM(A1),"x"');
  await eventsAs(key, hash);
  for (const [as, cell] of [[key, `"'=SUM(A1),""x"""`], [await api.newKey(), ""]] as const) {
    const url = `http://gateway.test/v1/events?format=csv&txHash=${hash}`;
    const request = new Request(url, { headers: { authorization: `Bearer ${as}` } });
    const response = await api.gateway.fetch(request, { remoteAddress: "198.51.100.7" });
    assert.ok((await response.text()).endsWith(`,${cell}\r\n`));
  }
});

test("a live stream has the reference for its key alone", async () => {
  const other = await api.newKey();
  const streams = await Promise.all([key, other].map((as) => openStream(api, "", { key: as })));
  for (const stream of streams) await stream.until("caught_up");
  const hash = await registered("live/7");
  const references = await Promise.all(streams.map(async (stream) => {
    for (;;) {
      const frame = await stream.next();
      if (frame?.event === "message" && frame.data.txHash === hash) return frame.data.reference;
    }
  }));
  assert.deepEqual(references, ["live/7", undefined]);
  for (const stream of streams) await stream.close();
});

test("webhooks of the key that prepared have the reference, also in a replay and in the shown request", async () => {
  const other = await api.newKey();
  const own = await newWebhook({ url: `${receiver.url}/own` });
  const foreign = await newWebhook({ url: `${receiver.url}/foreign` }, other);
  const hash = await registered("invoice-9", { submitter: other });
  const eventOf = ({ body }: { body: string }) => JSON.parse(body).event;
  const [sent] = await arrived("/own", 1);
  assert.deepEqual([eventOf(sent!).txHash, eventOf(sent!).reference], [hash, "invoice-9"]);
  assert.equal("reference" in eventOf((await arrived("/foreign", 1))[0]!), false);

  const attempts = await until(async () => {
    const { deliveries } = (await get(`/v1/webhooks/${own.id}/deliveries`)).body;
    return deliveries.length > 0 ? deliveries : undefined;
  });
  const shown = await get(`/v1/webhooks/${own.id}/deliveries/${attempts[0].id}`);
  assert.equal(shown.body.request.body, sent!.body);
  assert.equal((await post(`/v1/webhooks/${own.id}/replay`, { eventId: eventOf(sent!).id })).status, 202);
  assert.equal((await arrived("/own", 2))[1]!.body, sent!.body);
  for (const [{ id }, as] of [[own, key], [foreign, other]] as const) await remove(`/v1/webhooks/${id}`, as);
});

test("the reference is found by the hash of a fee bump", async () => {
  const { body } = await prepare({ ...registering(), reference: "bumped" });
  const inner = TransactionBuilder.fromXdr(signedByOwner(body), body.networkPassphrase) as Transaction;
  const payer = Keypair.fromSecret(on.sandbox.accounts.agent.secret);
  const bump = TransactionBuilder.buildFeeBumpTransaction(payer, "2000000", inner, body.networkPassphrase);
  bump.sign(payer);
  const submitted = await post("/v1/transactions/submit", { xdr: bump.toXdr() }, await api.newKey());
  assert.equal(submitted.status, 200, JSON.stringify(submitted.body));
  assert.notEqual(submitted.body.hash, body.hash);
  const [event] = await eventsAs(key, submitted.body.hash);
  assert.equal(event.reference, "bumped");
});

test("a repeat of an intent with another reference is refused as another operation is, and the first one stays", async () => {
  const request = { ...registering(), reference: "first" };
  const first = await prepare(request, { named: "intent-1" });
  assert.equal(first.status, 200, JSON.stringify(first.body));
  const { reference: _, ...without } = request;
  const another = await prepare({ ...request, ...registering() }, { named: "intent-1" });
  for (const body of [{ ...request, reference: "second" }, without]) {
    const refused = await prepare(body, { named: "intent-1" });
    assertInvalid(refused, another.body.error.message, "Idempotency-Key");
  }
  assert.equal((await prepare(request, { named: "intent-1" })).body.hash, first.body.hash);
  assert.equal((await post("/v1/transactions/submit", { xdr: signedByOwner(first.body) })).status, 200);
  assert.equal((await eventsAs(key, first.body.hash))[0].reference, "first");
  assert.equal((await prepare(request, { named: "intent-1" })).body.status, "success");
});

test("an intent keeps its reference for another envelope that the client submits", async () => {
  const request = registering();
  const first = await prepare({ ...request, reference: "another envelope" }, { named: "intent-2" });
  // Its time bound is a second later.
  const { body } = await until(async () => {
    const later = await prepare(request);
    return later.body.hash === first.body.hash ? undefined : later;
  });
  const submitted = await api.request("POST", "/v1/transactions/submit", {
    key,
    body: { xdr: signedByOwner(body) },
    headers: { "idempotency-key": "intent-2" },
  });
  assert.equal(submitted.status, 200, JSON.stringify(submitted.body));
  assert.equal((await eventsAs(key, body.hash))[0].reference, "another envelope");
});

test("a reference has 1 to 128 printable ASCII characters without a blank at either end", async () => {
  const rule = /^reference must be 1 to 128 printable ASCII characters without a blank at either end/;
  for (const reference of ["", " a", "a ", "é", "a\nb", "x".repeat(129), 7, null]) {
    assertInvalid(await prepare({ ...registering(), reference }), rule, "reference");
  }
  for (const reference of ["7", "~!", "a  b", "x".repeat(128)]) {
    assert.equal((await prepare({ ...registering(), reference })).status, 200, reference);
  }
});

// needs: once
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../until.ts";
import { owedTo } from "../webhooks/parts.ts";
import { assertInvalid, startGateway } from "./test_gateway.ts";
import {
  answerWith,
  api,
  arrived,
  get,
  key,
  newWebhook,
  on,
  post,
  receiver,
  registerDevice,
  remove,
  startWebhookStage,
} from "./webhook_stage.ts";

startWebhookStage();

test("POST /v1/webhooks answers 201 with the subscription and its secret; later answers omit the secret", async () => {
  const merchant = on.sandbox.accounts.merchant.address;
  const { secret, ...webhook } = await newWebhook({
    types: ["payment.authorized", "payment.claimed", "payment.claimed"],
    deviceHash: "AB".repeat(32),
    merchant,
  });
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.match(webhook.id, /^wh_[0-9A-Za-z]{22}$/);
  assert.ok(Math.abs(Date.parse(webhook.createdAt) - Date.now()) < 60_000);
  assert.deepEqual(webhook, {
    id: webhook.id,
    url: `${receiver.url}/hook`,
    types: ["payment.authorized", "payment.claimed"],
    deviceHash: "ab".repeat(32),
    merchant,
    ordered: false,
    createdAt: webhook.createdAt,
    ...{ failingSince: null, retrying: 0, rejected: 0, dead: 0 },
    previousSecretUntil: null,
  });
  assert.deepEqual((await get(`/v1/webhooks/${webhook.id}`)).body, webhook);
  assert.deepEqual((await get("/v1/webhooks")).body, { webhooks: [webhook] });
  assert.ok(!api.log().includes(secret) && !api.log().includes(receiver.url), "neither secret nor target is logged");
});

test("POST /v1/webhooks accepts null for an absent filter, as its answers show it", async () => {
  const { types, deviceHash, merchant } = await newWebhook({ types: null, deviceHash: null, merchant: null });
  assert.deepEqual([types, deviceHash, merchant], [null, null, null]);
});

const REFUSED: [string, unknown, RegExp][] = [
  ["no url", {}, /^url is missing: must be an https:\/\/ URL$/],
  ["an empty url", { url: "" }, /^url must be an https:\/\/ URL$/],
  ["a relative url", { url: "example" }, /^url must be an absolute URL/],
  ["a private address", { url: "https://10.1.2.3/hook" }, /^url host must be public/],
  ["plain HTTP to others", { url: "http://example.com/hook" }, /^url must start with https/],
  ["a user name", { url: "https://user@example.com/hook" }, /^url must not contain a user name/],
  ["an unknown type", { url: "https://example.com", types: ["payment.made"] }, /^types\.0 must be one of device\.reg/],
  ["an empty list of types", { url: "https://example.com", types: [] }, /^types must name at least one/],
  ["types that are not a list", { url: "https://example.com", types: "payment.claimed" }, /^types must be an array/],
  ["a short device hash", { url: "https://example.com", deviceHash: "ab" }, /^deviceHash must be 64 hex digits/],
  [
    "a merchant that is not an address",
    { url: "https://example.com", merchant: "GABC" },
    /^merchant must be an account/,
  ],
  ["an unknown field", { url: "https://example.com", secret: "whsec_x" }, /^unknown field secret/],
];

for (const [what, body, message] of REFUSED) {
  test(`POST /v1/webhooks refuses ${what}`, async () => {
    assertInvalid(await post("/v1/webhooks", body), message);
    assert.deepEqual((await get("/v1/webhooks")).body.webhooks, []);
  });
}

test("a gateway that allows only https names https in its refusal of a missing and a wrong url", async () => {
  const strict = await startGateway(on, { started: false });
  const refusals: [unknown, string][] = [
    [{}, "url is missing: must be an https:// URL"],
    [{ url: 5 }, "url must be an https:// URL"],
    [{ url: "ftp://x" }, "url must start with https://, got ftp://"],
  ];
  for (const [body, message] of refusals) {
    assert.equal((await strict.request("POST", "/v1/webhooks", { body })).body.error.message, message);
  }
  await strict.stop();
});

test("a key has at most 100 webhooks", async () => {
  for (let n = 0; n < 100; n++) await newWebhook();
  assertInvalid(await post("/v1/webhooks", { url: receiver.url }), /has 100 webhooks/);
  const { body: { webhooks } } = await get("/v1/webhooks");
  assert.equal(webhooks.length, 100);
  assert.deepEqual((await remove(`/v1/webhooks/${webhooks[0].id}`)).body, { deleted: true });
  await newWebhook();
});

test("a request for a deleted webhook gets 404", async () => {
  const { id } = await newWebhook();
  assert.deepEqual((await remove(`/v1/webhooks/${id}`)).body, { deleted: true });
  assert.equal((await get(`/v1/webhooks/${id}`)).status, 404);
  assert.equal((await remove(`/v1/webhooks/${id}`)).status, 404);
});

test("a rotation answers a new secret and a previousSecretUntil a day later, and the next test event carries both signatures", async () => {
  const created = await newWebhook();
  const { status, body: rotated } = await post(`/v1/webhooks/${created.id}/secret`);
  assert.equal(status, 200);
  assert.notEqual(rotated.secret, created.secret);
  const dayAhead = Date.parse(rotated.previousSecretUntil) - Date.now();
  assert.ok(dayAhead > 86_000_000 && dayAhead <= 86_400_000);
  await post(`/v1/webhooks/${created.id}/test`);
  const { headers } = receiver.received.at(-1)!;
  assert.equal(String(headers["x-service-signature"]).match(/v1=/g)?.length, 2);
  assert.equal(String(headers["webhook-signature"]).split(" ").length, 2);
});

test("POST /v1/webhooks/:id/test sends a signed event at once and answers with the attempt", async () => {
  const { id } = await newWebhook();
  const { status, body: { attempt } } = await post(`/v1/webhooks/${id}/test`);
  assert.equal(status, 200);
  const { body, headers } = receiver.received.at(-1)!;
  const { subscription, event } = JSON.parse(body);
  assert.equal(subscription, id);
  assert.equal(event.type, "webhook.test");
  assert.equal(headers["webhook-id"], event.id);
  assert.deepEqual({ ...attempt, id: "", at: "", durationMs: 0 }, {
    ...{ id: "", at: "", durationMs: 0, eventId: event.id, eventType: "webhook.test", deliveryId: null, attempt: 1 },
    ...{ outcome: "delivered", statusCode: 200, error: null, responseBody: "thanks", nextAttemptAt: null },
  });
  assert.deepEqual((await get(`/v1/webhooks/${id}/deliveries`)).body, { deliveries: [attempt], cursor: null });
});

test("the gateway does not retry a failed test event, and refuses the seventh test in a minute", async () => {
  answerWith(503);
  const { id } = await newWebhook();
  for (let n = 0; n < 6; n++) {
    const { body: { attempt } } = await post(`/v1/webhooks/${id}/test`);
    assert.deepEqual([attempt.outcome, attempt.statusCode, attempt.nextAttemptAt], ["dead", 503, null]);
    assert.equal(attempt.error, "the endpoint answered 503");
  }
  const refused = await post(`/v1/webhooks/${id}/test`);
  assert.deepEqual([refused.status, refused.body.error.code], [429, "rate_limited"]);
  const retryAfter = Number(refused.headers.get("retry-after"));
  assert.ok(retryAfter >= 1 && retryAfter <= 60);
  const other = await newWebhook();
  assert.equal((await post(`/v1/webhooks/${other.id}/test`)).status, 200, "another webhook has its own limit");
});

test("the list of attempts is newest first, in pages", async () => {
  const { id } = await newWebhook();
  for (let n = 0; n < 5; n++) await post(`/v1/webhooks/${id}/test`);
  const { body: { deliveries: all } } = await get(`/v1/webhooks/${id}/deliveries`);
  assert.equal(all.length, 5);
  assert.deepEqual(all.map(({ id }: { id: string }) => id), all.map(({ id }: { id: string }) => id).sort().reverse());
  const first = (await get(`/v1/webhooks/${id}/deliveries?limit=3`)).body;
  const second = (await get(`/v1/webhooks/${id}/deliveries?limit=3&cursor=${first.cursor}`)).body;
  assert.deepEqual([...first.deliveries, ...second.deliveries], all);
  assert.equal(second.cursor, null);
  for (const query of ["limit=0", "limit=201", "limit=x", "cursor=x", "page=2"]) {
    assert.equal((await get(`/v1/webhooks/${id}/deliveries?${query}`)).status, 400, query);
  }
});

test("a webhook receives events after its creation, and the list of attempts shows a failure with its next attempt", async () => {
  const earlier = await registerDevice();
  const all = await newWebhook({ url: `${receiver.url}/after-creation` });
  answerWith(500);
  const { deviceHash } = await registerDevice();
  const heard = () => receiver.received.filter(({ path }) => path === "/after-creation");
  await arrived("/after-creation", 1);
  assert.equal(JSON.parse(heard()[0]!.body).event.deviceHash, deviceHash);
  assert.notEqual(deviceHash, earlier.deviceHash);
  const failed = await until(async () => (await get(`/v1/webhooks/${all.id}/deliveries`)).body.deliveries[0]);
  assert.deepEqual([failed.outcome, failed.error], ["retry", "the endpoint answered 500"]);
  // The wait starts at the end of the attempt, which is its start plus its duration.
  const waitMs = Date.parse(failed.nextAttemptAt) - Date.parse(failed.at) - failed.durationMs;
  assert.ok(waitMs >= 4_000 && waitMs <= 6_500, `${waitMs}`);
  const pending = async () => (await get("/v1/status")).body.deliveries;
  const { oldestSeconds, ...owed } = await pending();
  assert.ok(oldestSeconds >= 0 && owed.pending >= 1 && owed.dead === 0);
  await remove(`/v1/webhooks/${all.id}`);
  await until(async () => (await pending()).pending < owed.pending);
});

test("deliveries of a disabled key wait, and continue when the key is enabled", async () => {
  const { id } = await newWebhook({ url: `${receiver.url}/held` });
  const keyId = key.split("_")[2]!;
  await api.store.keys.setDisabled(keyId, true);
  await registerDevice(api.apiKey);
  const held = () => receiver.received.filter(({ path }) => path === "/held");
  await until(async () => (await owedTo(api.store, id)).pending > 0);
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal(held().length, 0);
  await api.store.keys.setDisabled(keyId, false);
  await arrived("/held", 1);
  assert.equal((await remove(`/v1/webhooks/${id}`)).status, 200);
});

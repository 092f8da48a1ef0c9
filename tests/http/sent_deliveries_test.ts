// needs: once
import assert from "node:assert/strict";
import { test } from "node:test";
import { verifyWebhook } from "../../lib/client/verify_webhook.ts";
import { until } from "../until.ts";
import {
  answerWith,
  arrived,
  get,
  newWebhook,
  post,
  receiver,
  registerDevice,
  startWebhookStage,
} from "./webhook_stage.ts";
import { assertInvalid } from "./test_gateway.ts";

startWebhookStage();

/** Creates a webhook whose deliveries arrive at its own path. */
const webhookAt = (path: string, fields: Record<string, unknown> = {}) =>
  newWebhook({ url: receiver.url + path, ...fields });

/** Waits for this many attempts and returns them. */
const attemptsOf = (id: string, count: number) =>
  until(async () => {
    const { deliveries } = (await get(`/v1/webhooks/${id}/deliveries`)).body;
    return deliveries.length >= count ? deliveries : undefined;
  });

test("GET /v1/webhooks/:id/deliveries/:attempt shows body, headers and signature as the receiver got them", async () => {
  const { id, secret } = await webhookAt("/sent");
  await registerDevice();
  const [received] = await arrived("/sent", 1);
  const [listed] = await attemptsOf(id, 1);
  const { status, body } = await get(`/v1/webhooks/${id}/deliveries/${listed.id}`);
  assert.equal(status, 200);
  assert.deepEqual([body.attempt, body.secretRotatedSince], [listed, false]);
  assert.equal(body.request.url, `${receiver.url}/sent`);
  assert.equal(body.request.body, received!.body);
  for (const [name, value] of Object.entries(body.request.headers)) {
    assert.equal(received!.headers[name.toLowerCase()], value, name);
  }
  const { headers, body: text } = body.request;
  assert.equal((await verifyWebhook({ headers, body: text, secret })).ok, true);
});

test("an attempt has the receiver's response body only if the delivery failed", async () => {
  const well = await webhookAt("/well");
  await registerDevice();
  const [arrivedThere] = await attemptsOf(well.id, 1);
  assert.deepEqual([arrivedThere.statusCode, arrivedThere.responseBody], [200, null]);
  answerWith(400);
  await registerDevice();
  const [failed] = await attemptsOf(well.id, 2);
  assert.deepEqual([failed.statusCode, failed.responseBody], [400, "thanks"]);
});

test("GET of an attempt shows a test event as the receiver got it", async () => {
  const { id } = await webhookAt("/sent-test");
  const { attempt } = (await post(`/v1/webhooks/${id}/test`)).body;
  const [received] = await arrived("/sent-test", 1);
  const { request } = (await get(`/v1/webhooks/${id}/deliveries/${attempt.id}`)).body;
  assert.equal(request.body, received!.body);
  assert.equal(request.headers["X-Service-Signature"], received!.headers["x-service-signature"]);
});

test("GET of an attempt from before a rotation signs its request with the new secret and sets secretRotatedSince", async () => {
  const { id } = await webhookAt("/sent-rotated");
  const { attempt } = (await post(`/v1/webhooks/${id}/test`)).body;
  const { secret } = (await post(`/v1/webhooks/${id}/secret`)).body;
  const { body } = await get(`/v1/webhooks/${id}/deliveries/${attempt.id}`);
  assert.equal(body.secretRotatedSince, true);
  const { headers, body: text } = body.request;
  assert.equal((await verifyWebhook({ headers, body: text, secret })).ok, true);
  const { attempt: later } = (await post(`/v1/webhooks/${id}/test`)).body;
  assert.equal((await get(`/v1/webhooks/${id}/deliveries/${later.id}`)).body.secretRotatedSince, false);
});

test("an unknown attempt gets 404, and an invalid attempt id gets 400", async () => {
  const { id } = await webhookAt("/sent-none");
  const none = await get(`/v1/webhooks/${id}/deliveries/77`);
  assert.deepEqual([none.status, none.body.error.code], [404, "not_found"]);
  assert.match(none.body.error.message, /the attempt 77 of wh_\w+ is deleted, or was never made/);
  assert.equal((await get(`/v1/webhooks/${id}/deliveries/0`)).status, 400);
});

test("POST /v1/webhooks/:id/replay with an eventId delivers only that event, and removes it from the rejected ones", async () => {
  answerWith(400);
  const { id } = await webhookAt("/resend");
  await registerDevice();
  await registerDevice();
  const attempts = await attemptsOf(id, 2);
  assert.equal((await get(`/v1/webhooks/${id}`)).body.rejected, 2);
  answerWith(200);
  const { eventId } = attempts[0];
  const dry = await post(`/v1/webhooks/${id}/replay`, { eventId, dryRun: true });
  assert.deepEqual([dry.status, dry.body], [200, { id: null, deliveries: 1, atLeast: false }]);
  const begun = await post(`/v1/webhooks/${id}/replay`, { eventId });
  assert.deepEqual([begun.status, begun.body.deliveries], [202, 1]);
  const received = await arrived("/resend", 3);
  assert.equal(received[2]!.headers["webhook-id"], eventId);
  await until(async () => (await get(`/v1/webhooks/${id}`)).body.rejected === 1);
  const [newest] = await attemptsOf(id, 3);
  const { outcome, deliveryId } = newest;
  assert.deepEqual([newest.eventId, outcome, deliveryId], [eventId, "delivered", `${eventId}:${begun.body.id}`]);
});

test("a replay of one event refuses an unknown event, an event that the filter excludes, and an additional range", async () => {
  const heard = await webhookAt("/refused");
  const deaf = await webhookAt("/deaf", { types: ["escrow.swept"] });
  await registerDevice();
  const [{ eventId }] = await attemptsOf(heard.id, 1);
  const bad: [string, unknown, RegExp][] = [
    [heard.id, { eventId: "x" }, /^eventId must be the id of an event/],
    [
      heard.id,
      { eventId: `${"9".repeat(19)}-${"0".repeat(10)}` },
      /^eventId 9{19}-0{10} must be an event of the stored/,
    ],
    [deaf.id, { eventId }, /^eventId \S+ is a device\.registered, which the filter of wh_\w+ excludes/],
    [heard.id, { eventId, fromLedger: 1 }, /^eventId and a range of ledgers exclude each other/],
    [heard.id, { eventId, toLedger: 1 }, /^eventId and a range of ledgers exclude each other/],
    [heard.id, { toLedger: 1 }, /^fromLedger is missing: send it, or eventId/],
  ];
  for (const [id, body, message] of bad) {
    assertInvalid(await post(`/v1/webhooks/${id}/replay`, body), message);
  }
});

import { owedTo } from "../webhooks/parts.ts";
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";
import { signed } from "../e2e/client.ts";
import { type Receiver, startReceiver } from "../e2e/receiver.ts";
import { until } from "../until.ts";
import { type GatewayUnderTest, startGateway, startTestNetwork, type TestNetwork } from "./test_gateway.ts";

let on: TestNetwork;
let api: GatewayUnderTest;
let receiver: Receiver;
let status = 200;
/** A key of its own for each test. */
let key: string;

before(async () => {
  on = await startTestNetwork();
  receiver = await startReceiver(() => status);
  api = await startGateway(on, { targets: { allowLoopbackHttp: true } });
});
after(async () => {
  await api.stop();
  await receiver.stop();
  await on.network.stop();
});
beforeEach(async () => {
  status = 200;
  key = await api.newKey({ scopes: ["webhooks", "read", "write"] });
});

const post = (path: string, body?: unknown, as = key) => api.request("POST", path, { key: as, body });
const get = (path: string, as = key) => api.request("GET", path, { key: as });
const remove = (path: string, as = key) => api.request("DELETE", path, { key: as });

async function newWebhook(fields: Record<string, unknown> = {}, as = key) {
  const answer = await post("/v1/webhooks", { url: `${receiver.url}/hook`, ...fields }, as);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
}

/** Looks again and again, and lets the gateway have its turn in between. */
let devices = 0;
/** Registers a new device: one event in one ledger. */
async function registerDevice(): Promise<{ deviceHash: string; ledger: number }> {
  const { owner, agent } = on.sandbox.accounts;
  const deviceHash = createHash("sha256").update(`device ${devices++}`).digest("hex");
  const operation = { kind: "registerDevice", deviceHash, agent: agent.address };
  const prepared = await post("/v1/transactions/prepare", { source: owner.address, operation });
  const xdr = signed(prepared.body.xdr, prepared.body.networkPassphrase, owner.secret);
  const { body } = await post("/v1/transactions/submit", { xdr });
  return { deviceHash, ledger: body.ledger };
}

test("POST /v1/webhooks answers 201 with the subscription and, this once, its secret", async () => {
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

test("filters may be given as they are answered: null where there is none", async () => {
  const { types, deviceHash, merchant } = await newWebhook({ types: null, deviceHash: null, merchant: null });
  assert.deepEqual([types, deviceHash, merchant], [null, null, null]);
});

const REFUSED: [string, unknown, RegExp][] = [
  ["no url", {}, /^url is missing: must be an https:\/\/ URL$/],
  ["an empty url", { url: "" }, /^url must be an https:\/\/ URL$/],
  ["a url that is none", { url: "example" }, /^url must be an absolute URL/],
  ["a private address", { url: "https://10.1.2.3/hook" }, /^url host must be public/],
  ["plain HTTP to others", { url: "http://example.com/hook" }, /^url must start with https/],
  ["a user name", { url: "https://user@example.com/hook" }, /^url must not contain a user name/],
  ["an unknown type", { url: "https://example.com", types: ["payment.made"] }, /^types\.0 must be one of device\.reg/],
  ["no type at all", { url: "https://example.com", types: [] }, /^types must name at least one/],
  ["types that are no list", { url: "https://example.com", types: "payment.claimed" }, /^types must be an array/],
  ["a short device hash", { url: "https://example.com", deviceHash: "ab" }, /^deviceHash must be 64 hex digits/],
  ["a merchant that is none", { url: "https://example.com", merchant: "GABC" }, /^merchant must be an account/],
  ["an unknown field", { url: "https://example.com", secret: "whsec_x" }, /^unknown field secret/],
];

for (const [what, body, message] of REFUSED) {
  test(`POST /v1/webhooks refuses ${what}`, async () => {
    const answer = await post("/v1/webhooks", body);
    assert.deepEqual([answer.status, answer.body.error.code], [400, "invalid_request"]);
    assert.match(answer.body.error.message, message);
    assert.deepEqual((await get("/v1/webhooks")).body.webhooks, []);
  });
}

test("a gateway that allows https alone says so, of no url as of a wrong one", async () => {
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
  const answer = await post("/v1/webhooks", { url: receiver.url });
  assert.deepEqual([answer.status, answer.body.error.code], [400, "invalid_request"]);
  assert.match(answer.body.error.message, /has 100 webhooks/);
  const { body: { webhooks } } = await get("/v1/webhooks");
  assert.equal(webhooks.length, 100);
  assert.deepEqual((await remove(`/v1/webhooks/${webhooks[0].id}`)).body, { deleted: true });
  await newWebhook();
});

test("another key's webhook is not found, whatever is asked of it", async () => {
  const { id } = await newWebhook();
  const other = await api.newKey({ scopes: ["webhooks"] });
  const path = `/v1/webhooks/${id}`;
  const answers = [
    await get(path, other),
    await remove(path, other),
    await post(`${path}/secret`, undefined, other),
    await post(`${path}/test`, undefined, other),
    await get(`${path}/deliveries`, other),
    await post(`${path}/replay`, { fromLedger: 1 }, other),
  ];
  for (const { status, body } of answers) assert.deepEqual([status, body.error.code], [404, "not_found"]);
  assert.deepEqual((await get("/v1/webhooks", other)).body, { webhooks: [] });
  assert.equal((await get(path)).status, 200, "it is still there");
});

test("a deleted webhook is gone", async () => {
  const { id } = await newWebhook();
  assert.deepEqual((await remove(`/v1/webhooks/${id}`)).body, { deleted: true });
  assert.equal((await get(`/v1/webhooks/${id}`)).status, 404);
  assert.equal((await remove(`/v1/webhooks/${id}`)).status, 404);
});

test("a rotation answers with a new secret, and for a day the one before signs too", async () => {
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
  assert.deepEqual(
    { ...attempt, id: "", at: "", durationMs: 0 },
    {
      id: "",
      eventId: event.id,
      eventType: "webhook.test",
      deliveryId: null,
      attempt: 1,
      at: "",
      durationMs: 0,
      outcome: "delivered",
      statusCode: 200,
      error: null,
      responseBody: "thanks",
      nextAttemptAt: null,
    },
  );
  assert.deepEqual((await get(`/v1/webhooks/${id}/deliveries`)).body, { deliveries: [attempt], cursor: null });
});

test("a test event that fails is not tried again, and the seventh in a minute is refused", async () => {
  status = 503;
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
  assert.equal((await post(`/v1/webhooks/${other.id}/test`)).status, 200, "another one has tests of its own");
});

test("attempts come newest first, in pages", async () => {
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

test("a webhook hears what happens after its creation, as its filter says, and a failure is shown with what follows", async () => {
  const earlier = await registerDevice();
  const all = await newWebhook({ url: `${receiver.url}/after-creation` });
  status = 500;
  const { deviceHash } = await registerDevice();
  const heard = () => receiver.received.filter(({ path }) => path === "/after-creation");
  while (heard().length === 0) await receiver.until(receiver.received.length + 1);
  assert.equal(JSON.parse(heard()[0]!.body).event.deviceHash, deviceHash);
  assert.notEqual(deviceHash, earlier.deviceHash);
  const failed = await until(async () => (await get(`/v1/webhooks/${all.id}/deliveries`)).body.deliveries[0]);
  assert.deepEqual([failed.outcome, failed.error], ["retry", "the endpoint answered 500"]);
  // Counted from its end, of which only the duration is told.
  const waitMs = Date.parse(failed.nextAttemptAt) - Date.parse(failed.at) - failed.durationMs;
  assert.ok(waitMs >= 4_000 && waitMs <= 6_500, `${waitMs}`);
  const pending = async () => (await get("/v1/status")).body.deliveries;
  const { oldestSeconds, ...owed } = await pending();
  assert.ok(oldestSeconds >= 0 && owed.pending >= 1 && owed.dead === 0);
  await remove(`/v1/webhooks/${all.id}`);
  await until(async () => (await pending()).pending < owed.pending);
});

test("a replay sends past events again, as many as it said, under the same event ids", async () => {
  const first = await registerDevice();
  await registerDevice();
  const last = await registerDevice();
  await until(async () => (await get(`/v1/events?fromLedger=${last.ledger}`)).body.events[0]);
  const { id } = await newWebhook({ url: `${receiver.url}/replay` });
  const path = `/v1/webhooks/${id}/replay`;
  const range = { fromLedger: first.ledger, toLedger: last.ledger };
  const dry = await post(path, { ...range, dryRun: true });
  assert.deepEqual([dry.status, dry.body], [200, { id: null, deliveries: 3, atLeast: false }]);
  const begun = await post(path, range);
  assert.equal(begun.status, 202);
  assert.match(begun.body.id, /^rp_/);
  assert.equal(begun.body.deliveries, 3);
  const replayed = () => receiver.received.filter((one) => one.path === "/replay");
  while (replayed().length < 3) await receiver.until(receiver.received.length + 1);
  const history = (await get(`/v1/events?fromLedger=${first.ledger}&limit=3`)).body.events;
  assert.deepEqual(
    replayed().map(({ headers }) => headers["webhook-id"]).sort(),
    history.map(({ id }: { id: string }) => id).sort(),
  );
});

test("one replay at a time, of ledgers that are a range", async () => {
  await registerDevice();
  const { id } = await newWebhook();
  const path = `/v1/webhooks/${id}/replay`;
  const bad: [unknown, RegExp][] = [
    [{}, /^fromLedger is missing/],
    [{ fromLedger: 0 }, /^fromLedger must be an integer from 1/],
    [{ fromLedger: 1.5 }, /^fromLedger must be an integer from 1/],
    [{ fromLedger: 5, toLedger: 4 }, /^toLedger must not be before fromLedger 5, got 4/],
    [{ fromLedger: 1, dryRun: "yes" }, /^dryRun must be true or false/],
  ];
  for (const [body, message] of bad) {
    const answer = await post(path, body);
    assert.equal(answer.status, 400);
    assert.match(answer.body.error.message, message);
  }
  assert.deepEqual((await post(path, { fromLedger: 4_000_000_000 })).body.deliveries, 0);
  await api.store.deliveries.insertReplay({
    id: "rp_other",
    subscriptionId: id,
    fromHeight: 1,
    toHeight: 4_000_000_000,
    cursor: 0,
    endSequence: null,
    deliveries: 1,
    atLeast: false,
    createdAtMs: 0,
  });
  const second = await post(path, { fromLedger: 1 });
  assert.deepEqual([second.status, second.body.error.code], [400, "invalid_request"]);
  assert.match(second.body.error.message, /a replay of wh_\w+ is under way/);
});

test("a replay that is asked for again with its Idempotency-Key is told as it was, and not begun again", async () => {
  const { ledger } = await registerDevice();
  await until(async () => (await get(`/v1/events?fromLedger=${ledger}`)).body.events[0]);
  const { id } = await newWebhook({ url: `${receiver.url}/once` });
  const ask = (body: unknown, of = id) =>
    api.request("POST", `/v1/webhooks/${of}/replay`, { key, body, headers: { "idempotency-key": "after-the-outage" } });
  assert.equal((await ask({ fromLedger: ledger, dryRun: true })).body.id, null);
  const begun = await ask({ fromLedger: ledger });
  assert.deepEqual([begun.status, begun.body.deliveries], [202, 1]);
  const received = () => receiver.received.filter(({ path }) => path === "/once").length;
  await until(async () => (await api.store.deliveries.reader(id))?.replay === null);
  const again = await ask({ fromLedger: ledger });
  assert.deepEqual([again.status, again.body], [202, begun.body]);
  assert.equal((await api.store.deliveries.reader(id))?.replay, null);
  assert.equal(received(), 1);
  const other = await newWebhook();
  for (const answer of [await ask({ fromLedger: 1 }), await ask({ fromLedger: ledger }, other.id)]) {
    assert.deepEqual([answer.status, answer.body.error.param], [400, "Idempotency-Key"]);
  }
  const fresh = await post(`/v1/webhooks/${id}/replay`, { fromLedger: ledger });
  assert.notEqual(fresh.body.id, begun.body.id);
});

test("no more replays of a key are begun once they have looked through a million events in a day", async () => {
  await registerDevice();
  const { id } = await newWebhook();
  const path = `/v1/webhooks/${id}/replay`;
  const { deliveries } = (await post(path, { fromLedger: 1 })).body;
  const name = `replayed/${key.split("_")[2]!}`;
  const events = 1_000_000;
  await api.store.registers.change(name, (before, nowMs) => {
    assert.deepEqual((before as { events: number }[]).map(({ events }) => events), [deliveries]);
    return { value: [{ hourMs: nowMs - 3_600_000, events }], keepMs: 86_400_000, answer: undefined };
  });
  const refused = await post(path, { fromLedger: 1 });
  assert.deepEqual([refused.status, refused.body.error.code], [429, "rate_limited"]);
  assert.ok(Number(refused.headers.get("retry-after")) > 22 * 3_600);
  assert.equal((await post(path, { fromLedger: 1, dryRun: true })).status, 200);
});

test("deliveries of a key that is disabled are held, and go on when it is enabled", async () => {
  const { id } = await newWebhook({ url: `${receiver.url}/held` });
  const keyId = key.split("_")[2]!;
  const mine = key;
  await api.store.keys.setDisabled(keyId, true);
  key = api.apiKey;
  await registerDevice();
  const held = () => receiver.received.filter(({ path }) => path === "/held");
  await until(async () => (await owedTo(api.store, id)).pending > 0);
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal(held().length, 0);
  await api.store.keys.setDisabled(keyId, false);
  while (held().length === 0) await receiver.until(receiver.received.length + 1);
  assert.equal((await remove(`/v1/webhooks/${id}`, mine)).status, 200);
});

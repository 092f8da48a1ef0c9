// needs: once
import assert from "node:assert/strict";
import { before, test } from "node:test";
import type { FailedDelivery, NewAttempt } from "../../lib/store/webhook.ts";
import { startReceiver } from "../e2e/receiver.ts";
import { appendMany, sampleId } from "../store/samples.ts";
import { failedAttempt, sampleAttempt, sampleFailed, settle, START_MS } from "../store/webhook_samples.ts";
import { until } from "../until.ts";
import { assertInvalid, gatewayOfFile, startGateway } from "./test_gateway.ts";

/** A gateway that delivers nothing: the tests put failed deliveries into its store. */
const { on, api } = gatewayOfFile({ started: false, targets: { allowLoopbackHttp: true } });
before(() => appendMany(api.store, 1, 60));

/** Creates a webhook with these failed deliveries and attempts; returns the path of its deliveries. */
async function withFailed(failed: FailedDelivery[], attempts: NewAttempt[] = []): Promise<string> {
  const { body } = await api.request("POST", "/v1/webhooks", { body: { url: "http://127.0.0.1:9/hook" } });
  await settle(api.store, { subscriptionId: body.id, failed, attempts });
  return `/v1/webhooks/${body.id}/deliveries`;
}

/** A page's events, by their number in the log, and its cursor. */
async function page(path: string, query: string): Promise<{ listed: number[]; cursor: string | null }> {
  const { status, body } = await api.request("GET", `${path}?${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  const ids = Array.from({ length: 60 }, (_, n) => sampleId(n + 1));
  return {
    listed: body.deliveries.map(({ eventId }: { eventId: string }) => ids.indexOf(eventId) + 1),
    cursor: body.cursor,
  };
}

test("deliveries?state=rejected shows the rejected event, the time of its failure and the endpoint's answer", async () => {
  const receiver = await startReceiver(() => 410);
  const running = await startGateway(on, { targets: { allowLoopbackHttp: true } });
  const body = { url: `${receiver.url}/gone` };
  const { body: { id } } = await running.request("POST", "/v1/webhooks", { body });
  const { ledger } = await running.registerDevice();
  await until(async () => (await running.request("GET", `/v1/webhooks/${id}`)).body.rejected === 1);

  const { body: rejected } = await running.request("GET", `/v1/webhooks/${id}/deliveries?state=rejected`);
  const [attempt] = (await running.request("GET", `/v1/webhooks/${id}/deliveries`)).body.deliveries;
  const { deliveries: [{ failedAt, ...delivery }] } = rejected;
  assert.deepEqual(delivery, {
    ...{ eventId: attempt.eventId, eventType: "device.registered", ledger, state: "rejected", attempts: 1 },
    ...{ nextAttemptAt: null, lastAttempt: attempt },
  });
  assert.deepEqual([attempt.statusCode, attempt.error], [410, "the endpoint answered 410"]);
  assert.ok(Math.abs(Date.parse(failedAt) - Date.now()) < 60_000, failedAt);
  assert.deepEqual([rejected.deliveries.length, rejected.cursor], [1, null]);
  for (const state of ["dead", "retrying"]) {
    const others = await running.request("GET", `/v1/webhooks/${id}/deliveries?state=${state}`);
    assert.deepEqual(others.body, { deliveries: [], cursor: null });
  }
  await running.stop();
  await receiver.stop();
});

test("deliveries?state=dead lists a dead delivery without an attempt", async () => {
  const path = await withFailed([sampleFailed(7, "dead", { attempts: 0 })], [sampleAttempt(8)]);
  const { body } = await api.request("GET", `${path}?state=dead`);
  const delivery = {
    ...{ eventId: sampleId(7), eventType: "escrow.funded", ledger: 1_007, state: "dead" },
    ...{ failedAt: new Date(START_MS).toISOString(), attempts: 0, nextAttemptAt: null, lastAttempt: null },
  };
  assert.deepEqual(body, { deliveries: [delivery], cursor: null });
});

test("each state has its own list: rejected and dead newest first, retrying oldest first with nextAttemptAt", async () => {
  const states = ["dead", "rejected", "retrying", "dead", "retrying", "rejected"] as const;
  const path = await withFailed(states.map((state, n) => sampleFailed(n + 1, state)));
  assert.deepEqual((await page(path, "state=rejected")).listed, [6, 2]);
  assert.deepEqual((await page(path, "state=dead")).listed, [4, 1]);
  assert.deepEqual((await page(path, "state=retrying")).listed, [3, 5]);
  const { deliveries } = (await api.request("GET", `${path}?state=retrying`)).body;
  const due = new Date(START_MS + 10_000).toISOString();
  assert.deepEqual(deliveries.map(({ nextAttemptAt }: { nextAttemptAt: string }) => nextAttemptAt), [due, due]);
  assert.deepEqual((await api.request("GET", path)).body, { deliveries: [], cursor: null }, "nothing was attempted");
});

test("pages of failed deliveries show each delivery once, also when more deliveries fail between two pages", async () => {
  const some = Array.from({ length: 51 }, (_, n) => n + 1);
  for (const state of ["rejected", "dead", "retrying"] as const) {
    const path = await withFailed(some.map((sequence) => sampleFailed(sequence, state)));
    const order = state === "retrying" ? some : some.toReversed();
    const first = await page(path, `state=${state}`);
    assert.deepEqual(first.listed, order.slice(0, 50), "50 without a limit");
    await settle(api.store, { subscriptionId: path.split("/")[3]!, failed: [sampleFailed(60, state)] });
    const second = await page(path, `state=${state}&cursor=${first.cursor}`);
    assert.deepEqual(second, { listed: state === "retrying" ? [51, 60] : [1], cursor: null });
    const listed: number[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const next = await page(path, `state=${state}&limit=20${cursor && `&cursor=${cursor}`}`);
      listed.push(...next.listed);
      cursor = next.cursor;
    }
    assert.deepEqual(listed, state === "retrying" ? [...some, 60] : [60, ...some.toReversed()]);
  }
});

test("lastAttempt is the newest of the 1 000 stored attempts, including probes and replays", async () => {
  const attempts = [
    failedAttempt(1, "retry"),
    { ...failedAttempt(1, "dead"), error: "by itself" },
    { ...failedAttempt(2, "retry"), number: 0, error: "a probe" },
    { ...failedAttempt(1, "dead"), error: "replayed", replayId: "rp_1" },
  ];
  const path = await withFailed([1, 2, 3].map((sequence) => sampleFailed(sequence, "dead")), attempts);
  const id = path.split("/")[3]!;
  const others = Array.from({ length: 400 }, (_, n) => sampleAttempt(4 + n % 50));
  await settle(api.store, { subscriptionId: id, attempts: others });
  const found = async () =>
    (await api.request("GET", `${path}?state=dead`)).body.deliveries
      .map(({ lastAttempt }: { lastAttempt: { error: string } | null }) => lastAttempt?.error ?? null);
  assert.deepEqual(await found(), [null, "a probe", "replayed"]);
  await settle(api.store, { subscriptionId: id, attempts: others });
  await settle(api.store, { subscriptionId: id, attempts: others });
  assert.deepEqual(await found(), [null, null, null], "the store has 1 000 attempts");
});

test("a repeated creation with the same Idempotency-Key shows the webhook's present counts of rejected and dead", async () => {
  const ensured = { body: { url: "http://127.0.0.1:9/ensured" }, headers: { "idempotency-key": "ensured" } };
  const create = () => api.request("POST", "/v1/webhooks", ensured);
  const { body: made } = await create();
  await settle(api.store, { subscriptionId: made.id, failed: [sampleFailed(1, "rejected"), sampleFailed(2, "dead")] });
  const again = await create();
  assert.equal(again.status, 201);
  assert.deepEqual(again.body, { ...made, rejected: 1, dead: 1 });
});

const STATES = "state must be one of rejected, dead, retrying";
const CURSOR = "cursor must be a cursor from an earlier response";
const WRONG: [query: string, message: string, param: string][] = [
  ["state=ded", `${STATES}; got "ded"; did you mean dead?`, "state"],
  ["state=Rejected", `${STATES}; got "Rejected"; did you mean rejected?`, "state"],
  ["state=delivered", `${STATES}; got "delivered"`, "state"],
  ["state=", `${STATES}; got ""`, "state"],
  ["sate=dead", "unknown query parameter sate; did you mean state?", "sate"],
  ["state=dead&limit=0", `limit must be an integer from 1 to 200; got "0"`, "limit"],
  ["state=dead&limit=201", `limit must be an integer from 1 to 200; got "201"`, "limit"],
  ["state=dead&cursor=x", CURSOR, "cursor"],
  ["state=dead&cursor=dead.0", CURSOR, "cursor"],
  ["state=dead&cursor=5", `${CURSOR} with the same state`, "cursor"],
  ["state=dead&cursor=rejected.5", `${CURSOR} with the same state`, "cursor"],
  ["cursor=dead.5", `${CURSOR} with the same state`, "cursor"],
  ["cursor=x", CURSOR, "cursor"],
];

for (const [query, message, param] of WRONG) {
  test(`deliveries?${query} gets 400 with the reason`, async () => {
    assertInvalid(await api.request("GET", `${await withFailed([])}?${query}`), message, param);
  });
}

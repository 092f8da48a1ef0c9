// needs: once
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../until.ts";
import {
  api,
  arrived,
  get,
  key,
  newWebhook,
  post,
  receiver,
  registerDevice,
  startWebhookStage,
} from "./webhook_stage.ts";
import { assertInvalid } from "./test_gateway.ts";

startWebhookStage();

test("a replay delivers as many past events as its dry run counts, with the same event ids", async () => {
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
  const replayed = await arrived("/replay", 3);
  const history = (await get(`/v1/events?fromLedger=${first.ledger}&limit=3`)).body.events;
  assert.deepEqual(
    replayed.map(({ headers }) => headers["webhook-id"]).sort(),
    history.map(({ id }: { id: string }) => id).sort(),
  );
});

test("a replay needs a valid range of ledgers, and only one runs at a time for each webhook", async () => {
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
    assertInvalid(await post(path, body), message);
  }
  assert.deepEqual((await post(path, { fromLedger: 4_000_000_000 })).body.deliveries, 0);
  await api.store.deliveries.insertReplay({
    ...{ id: "rp_other", subscriptionId: id, fromHeight: 1, toHeight: 4_000_000_000, cursor: 0, endSequence: null },
    ...{ deliveries: 1, atLeast: false, createdAtMs: 0 },
  });
  assertInvalid(await post(path, { fromLedger: 1 }), /a replay of wh_\w+ is under way/);
});

test("a repeated replay with the same Idempotency-Key gets the first answer and starts no second replay", async () => {
  const { ledger } = await registerDevice();
  await until(async () => (await get(`/v1/events?fromLedger=${ledger}`)).body.events[0]);
  const { id } = await newWebhook({ url: `${receiver.url}/once` });
  const ask = (body: unknown, of = id) =>
    api.request("POST", `/v1/webhooks/${of}/replay`, { key, body, headers: { "idempotency-key": "after-the-outage" } });
  assert.equal((await ask({ fromLedger: ledger, dryRun: true })).body.id, null);
  const begun = await ask({ fromLedger: ledger });
  assert.deepEqual([begun.status, begun.body.deliveries], [202, 1]);
  const received = () => receiver.received.filter(({ path }) => path === "/once").length;
  await until(async () => (await api.store.deliveries.consumer(id))?.replay === null);
  const again = await ask({ fromLedger: ledger });
  assert.deepEqual([again.status, again.body], [202, begun.body]);
  assert.equal((await api.store.deliveries.consumer(id))?.replay, null);
  assert.equal(received(), 1);
  const other = await newWebhook();
  for (const answer of [await ask({ fromLedger: 1 }), await ask({ fromLedger: ledger }, other.id)]) {
    assert.deepEqual([answer.status, answer.body.error.param], [400, "Idempotency-Key"]);
  }
  const fresh = await post(`/v1/webhooks/${id}/replay`, { fromLedger: ledger });
  assert.notEqual(fresh.body.id, begun.body.id);
});

test("a key whose replays covered a million events in a day gets 429 for the next replay", async () => {
  await registerDevice();
  const { id } = await newWebhook();
  const path = `/v1/webhooks/${id}/replay`;
  const { deliveries } = (await post(path, { fromLedger: 1 })).body;
  const name = `replayed/${key.split("_")[2]!}`;
  await api.store.sharedState.change(name, (before, nowMs) => {
    assert.deepEqual((before as { count: number }[]).map(({ count }) => count), [deliveries]);
    return { value: [{ atMs: nowMs - 3_600_000, count: 1_000_000 }], keepMs: 86_400_000, answer: undefined };
  });
  const other = await newWebhook();
  const refused = await post(`/v1/webhooks/${other.id}/replay`, { fromLedger: 1 });
  assert.deepEqual([refused.status, refused.body.error.code], [429, "rate_limited"]);
  assert.ok(Number(refused.headers.get("retry-after")) > 22 * 3_600);
  assert.equal((await post(path, { fromLedger: 1, dryRun: true })).status, 200);
});

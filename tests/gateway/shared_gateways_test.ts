// needs: once
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { openStore } from "../../lib/store/open.ts";
import type { Store } from "../../lib/store/store.ts";
import { type Receiver, startReceiver } from "../e2e/receiver.ts";
import { type GatewayUnderTest, networkOfFile, type Signer, startGateway } from "../http/test_gateway.ts";
import { until } from "../until.ts";

const on = networkOfFile();
let store: Store;
let one: GatewayUnderTest;
let two: GatewayUnderTest;
let receiver: Receiver;

/** A gateway that polls its node rarely: it learns of the other gateway's work from the store. */
const gateway = (settings: Record<string, string> = {}, started = true) =>
  startGateway(on, {
    started,
    store: () => store,
    settings: { pollMs: "60000", ...settings },
    targets: { allowLoopbackHttp: true },
  });

beforeEach(async () => {
  store = await openStore("memory:", { isShared: true });
  receiver = await startReceiver(() => 200);
  [one, two] = [await gateway(), await gateway()];
});
afterEach(async () => {
  await Promise.all([one.stop(), two.stop()]);
  await receiver.stop();
  await store.close();
});

/** Has a gateway register a new device; returns its hash. */
const registerDevice = async (by: GatewayUnderTest) => (await by.registerDevice({ key: one.apiKey })).deviceHash;

/** Has a gateway prepare an operation, and then submit it. */
async function send(by: GatewayUnderTest, source: Signer, operation: object, headers: Record<string, string> = {}) {
  const xdr = await by.signedEnvelope(source, operation, { key: one.apiKey, headers });
  const { status, body } = await by.submit(xdr, { key: one.apiKey });
  assert.equal(status, 200, JSON.stringify(body));
  return { xdr, hash: body.hash as string };
}

test("two gateways enforce one shared rate limit for a key", async () => {
  const key = await one.newKey({ rate: 60 });
  let admitted = 0;
  const beganAt = performance.now();
  for (let n = 0; n < 90; n++) {
    const { status, headers } = await (n % 2 ? one : two).request("GET", "/v1/network", { key });
    if (status === 200) admitted += 1;
    else assert.ok(status === 429 && Number(headers.get("retry-after")) >= 1, `${status}`);
  }
  const refilled = Math.ceil((performance.now() - beganAt) / 1_000);
  assert.ok(admitted >= 50 && admitted <= 60 + refilled, `${admitted}`);
});

test("a gateway refuses a live stream when the other gateway has used the key's last token", async () => {
  const key = await one.newKey({ rate: 1 });
  assert.equal((await one.request("GET", "/v1/network", { key })).status, 200);
  const refused = await two.request("GET", "/v1/events/stream", { key });
  assert.deepEqual([refused.status, refused.body.error.code], [429, "rate_limited"]);
});

test("a read at one gateway shows what was submitted at the other", async () => {
  const deviceHash = await registerDevice(one);
  const { owner, agent } = on.sandbox.accounts;
  const { asset } = on.sandbox;
  await send(one, owner, { kind: "registerAgent", deviceHash, agent: agent.address, asset, maxAmount: "9" });
  const balanceAt = async (by: GatewayUnderTest): Promise<string> =>
    (await by.request("GET", `/v1/devices/${deviceHash}`, { key: one.apiKey })).body.escrowBalance;
  for (const balance of ["1", "2", "3"]) {
    assert.notEqual(await balanceAt(two), balance);
    await send(one, owner, { kind: "fundEscrow", deviceHash, asset, amount: "1" });
    // Sooner than the gateway's own cached answer expires: after six seconds without a new ledger.
    await until(async () => await balanceAt(two) === balance, 5_000);
  }
});

test("a gateway that reports a transaction of the other gateway as applied shows its effect in the next read", async () => {
  const deviceHash = await registerDevice(one);
  const { owner } = on.sandbox.accounts;
  const { asset } = on.sandbox;
  const funding = { kind: "fundEscrow", deviceHash, asset, amount: "1" };
  let headers: Record<string, string> = {};
  const ask = (method: string, path: string, body?: object) =>
    two.request(method, path, { key: one.apiKey, body, headers });
  const balanceNow = async () => (await ask("GET", `/v1/devices/${deviceHash}`)).body.escrowBalance;
  const confirmedBy = [
    async ({ xdr }: { xdr: string }) => (await ask("POST", "/v1/transactions/submit", { xdr })).status === 200,
    async ({ hash }: { hash: string }) => (await ask("GET", `/v1/transactions/${hash}`)).body.status === "success",
    async () =>
      (await ask("POST", "/v1/transactions/prepare", { source: owner.address, operation: funding })).body.status ===
        "success",
  ];
  for (let balance = 1; balance <= 6; balance++) {
    headers = {};
    assert.equal(await balanceNow(), `${balance - 1}`);
    headers = { "Idempotency-Key": `funding-${balance}` };
    const sent = await send(one, owner, funding, headers);
    await until(async () => (await store.submissions.get(sent.hash))?.outcome !== undefined);
    assert.ok(await confirmedBy[balance % 3]!(sent));
    assert.equal(await balanceNow(), `${balance}`);
  }
});

test("the history at each gateway contains events of transactions that the other gateway submitted", async () => {
  for (const by of [one, two]) {
    const deviceHash = await registerDevice(by);
    for (const at of [one, two]) {
      await until(async () => {
        const { body } = await at.request("GET", `/v1/events?deviceHash=${deviceHash}`, { key: one.apiKey });
        return body.events.length > 0;
      });
    }
  }
});

test("both gateways apply a key's change, enabled or disabled, within two seconds", async () => {
  const key = await one.newKey();
  const id = key.split("_")[2]!;
  for (const isDisabled of [false, true, false]) {
    await store.keys.setDisabled(id, isDisabled);
    for (const at of [one, two]) {
      await until(
        async () => (await at.request("GET", "/v1/network", { key })).status === (isDisabled ? 401 : 200),
        2_000,
      );
    }
  }
});

test("a webhook created at one gateway gets each event once, and six test calls a minute over both gateways", async () => {
  const { body: webhook } = await one.request("POST", "/v1/webhooks", { body: { url: `${receiver.url}/hook` } });
  const deviceHash = await registerDevice(two);
  await until(() => receiver.received.length > 0);
  const tests = await Promise.all(
    Array.from(
      { length: 10 },
      (_, n) => (n % 2 ? one : two).request("POST", `/v1/webhooks/${webhook.id}/test`, { key: one.apiKey }),
    ),
  );
  assert.deepEqual(tests.map(({ status }) => status).sort(), [200, 200, 200, 200, 200, 200, 429, 429, 429, 429]);
  const delivered = receiver.received.map(({ body }) => JSON.parse(body)).filter(({ event }) => event?.deviceHash);
  assert.deepEqual(delivered.map(({ event }) => event.deviceHash), [deviceHash]);
});

test("a webhook gets no event that was confirmed before its creation, at either gateway", async () => {
  for (const [by, path] of [[one, "/one"], [two, "/two"]] as const) {
    await registerDevice(by);
    await registerDevice(by);
    const { status } = await by.request("POST", "/v1/webhooks", {
      key: one.apiKey,
      body: { url: `${receiver.url}${path}` },
    });
    assert.equal(status, 201);
    const later = await registerDevice(by);
    const posted = () =>
      receiver.received.filter((post) => post.path === path).map(({ body }) => JSON.parse(body).event.deviceHash);
    await until(() => posted().includes(later));
    assert.deepEqual(posted(), [later]);
  }
});

test("a gateway continues to watch and deliver after the other gateway stops", async () => {
  await one.request("POST", "/v1/webhooks", { body: { url: `${receiver.url}/hook` } });
  const hashes = [await registerDevice(one)];
  await until(() => receiver.received.length === 1);
  await one.gateway.stop();
  hashes.push(await registerDevice(two));
  await until(() => receiver.received.length === 2, 15_000);
  assert.deepEqual(receiver.received.map(({ body }) => JSON.parse(body).event.deviceHash), hashes);
});

test("two isolates with simultaneous turns deliver each event once to each of six webhooks", async () => {
  await Promise.all([one.stop(), two.stop()]);
  const isolates = [await gateway({}, false), await gateway({}, false)];
  [one, two] = isolates as [GatewayUnderTest, GatewayUnderTest];
  for (let n = 0; n < 6; n++) await one.request("POST", "/v1/webhooks", { body: { url: `${receiver.url}/${n}` } });
  const hashes: string[] = [];
  for (let turns = 0; turns < 2; turns++) {
    hashes.push(await registerDevice(turns === 0 ? one : two));
    await Promise.all(isolates.map((isolate) => isolate.gateway.turn(20_000)));
    const delivered = receiver.received.map(({ path, body }) => `${path} ${JSON.parse(body).event.deviceHash}`);
    assert.equal(new Set(delivered).size, delivered.length);
    assert.equal(delivered.length, 6 * hashes.length);
  }
});

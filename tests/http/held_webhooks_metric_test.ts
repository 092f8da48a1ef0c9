// needs: once
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import { signed } from "../e2e/client.ts";
import { type Receiver, startReceiver } from "../e2e/receiver.ts";
import { until } from "../until.ts";
import { type GatewayUnderTest, startGateway, startTestNetwork, type TestNetwork } from "./test_gateway.ts";

let on: TestNetwork;
let api: GatewayUnderTest;
let receiver: Receiver;
before(async () => {
  on = await startTestNetwork();
  receiver = await startReceiver(() => 500);
  api = await startGateway(on, { targets: { allowLoopbackHttp: true } });
});
after(async () => {
  await api.stop();
  await receiver.stop();
  await on.network.stop();
});

const owed = async () => (await api.request("GET", "/v1/status")).body.deliveries;

test("of a webhook whose key was disabled nobody is told that its endpoint fails, or does not take what it is owed", async () => {
  const key = await api.newKey();
  const created = await api.request("POST", "/v1/webhooks", { key, body: { url: `${receiver.url}/hook` } });
  assert.equal(created.status, 201);
  const { owner, agent } = on.sandbox.accounts;
  const deviceHash = createHash("sha256").update("held").digest("hex");
  const operation = { kind: "registerDevice", deviceHash, agent: agent.address };
  const { body } = await api.request("POST", "/v1/transactions/prepare", {
    body: { source: owner.address, operation },
  });
  await api.request("POST", "/v1/transactions/submit", {
    body: { xdr: signed(body.xdr, body.networkPassphrase, owner.secret) },
  });
  await until(async () => (await owed()).failingWebhooks === 1);
  await api.store.keys.setDisabled(key.split("_")[2]!, true);
  const { pending, oldestSeconds } = await until(async () => {
    const told = await owed();
    return told.failingWebhooks === 0 && told;
  });
  assert.deepEqual({ pending, oldestSeconds }, { pending: 1, oldestSeconds: null }, "it is owed all the same");
});

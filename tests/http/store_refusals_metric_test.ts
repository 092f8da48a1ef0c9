// needs: neutral
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { parseExposition } from "../exposition.ts";
import { type GatewayUnderTest, startGateway, startTestNetwork, type TestNetwork } from "./test_gateway.ts";

const TOKEN = "scrape-me-0123456789";
let on: TestNetwork;
let api: GatewayUnderTest;
before(async () => {
  on = await startTestNetwork();
  const targets = { allowLoopbackHttp: true };
  api = await startGateway(on, { settings: { metricsToken: TOKEN }, targets });
});
after(async () => {
  await api.stop();
  await on.network.stop();
});

/** What docs/alerts.yml pages for ("The store fails"): the sum over all kinds. */
async function storeErrors(): Promise<Record<string, number>> {
  const request = new Request("http://gateway.test/metrics", { headers: { authorization: `Bearer ${TOKEN}` } });
  const response = await api.gateway.fetch(request, { remoteAddress: "203.0.113.9" });
  const { samples } = parseExposition(await response.text()).get("gateway_store_errors_total")!;
  return Object.fromEntries(samples.map(({ labels, value }) => [labels.kind, value]));
}

test("a caller who wants more webhooks than a key may have is refused, and nobody is told that the store fails", async () => {
  const create = () => api.request("POST", "/v1/webhooks", { body: { url: "http://127.0.0.1:9/hook" } });
  for (let n = 0; n < 100; n++) assert.equal((await create()).status, 201);
  for (let n = 0; n < 3; n++) assert.equal((await create()).status, 400);
  assert.deepEqual(await storeErrors(), { unavailable: 0, full: 0 });
});

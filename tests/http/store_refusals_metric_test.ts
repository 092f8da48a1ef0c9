// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { gatewayOfFile, METRICS_TOKEN } from "./test_gateway.ts";

const { api } = gatewayOfFile({
  settings: { metricsToken: METRICS_TOKEN },
  targets: { allowLoopbackHttp: true },
});

/** What docs/alerts.yml pages for ("The store fails"): the sum over all kinds. */
async function storeErrors(): Promise<Record<string, number>> {
  const { samples } = (await api.scrape()).get("gateway_store_errors_total")!;
  return Object.fromEntries(samples.map(({ labels, value }) => [labels.kind, value]));
}

test("a caller who wants more webhooks than a key may have is refused, and nobody is told that the store fails", async () => {
  const create = () => api.request("POST", "/v1/webhooks", { body: { url: "http://127.0.0.1:9/hook" } });
  for (let n = 0; n < 100; n++) assert.equal((await create()).status, 201);
  for (let n = 0; n < 3; n++) assert.equal((await create()).status, 400);
  assert.deepEqual(await storeErrors(), { unavailable: 0, full: 0 });
});

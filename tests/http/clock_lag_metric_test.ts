// needs: neutral
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { parseExposition } from "../exposition.ts";
import { until } from "../until.ts";
import { type GatewayUnderTest, startGateway, startTestNetwork, type TestNetwork } from "./test_gateway.ts";

const TOKEN = "scrape-me-0123456789";
/** This machine's clock is five minutes ahead; the network is well. */
const AHEAD_SECONDS = 300;
let on: TestNetwork;
let api: GatewayUnderTest;
let closing: ReturnType<typeof setInterval>;
before(async () => {
  on = await startTestNetwork();
  closing = setInterval(() => on.network.closeLedger(), 1_000);
  api = await startGateway(on, {
    settings: { metricsToken: TOKEN },
    now: () => Date.now() + AHEAD_SECONDS * 1_000,
    monotonicMs: () => performance.now(),
  });
});
after(async () => {
  clearInterval(closing);
  await api.stop();
  await on.network.stop();
});

async function gauge(name: string): Promise<number> {
  const request = new Request("http://gateway.test/metrics", { headers: { authorization: `Bearer ${TOKEN}` } });
  const response = await api.gateway.fetch(request, { remoteAddress: "203.0.113.9" });
  return parseExposition(await response.text()).get(name)!.samples[0]!.value;
}

test("where this machine's clock is known to be ahead, nobody is told that the network has stopped", async () => {
  const status = async () => (await api.request("GET", "/v1/status")).body;
  const { ledger, nodes } = await until(async () => {
    const told = await status();
    return told.ledger.clockDisagreesBySeconds !== null && told;
  });
  assert.ok(Math.abs(ledger.clockDisagreesBySeconds + AHEAD_SECONDS) < 10, `${ledger.clockDisagreesBySeconds}`);
  assert.equal(nodes[0].condition, "well");
  // docs/alerts.yml pages above 60 for two minutes: "The network has stopped, or every node is behind".
  const lagSeconds = await gauge("gateway_ledger_lag_seconds");
  assert.ok(lagSeconds < 60, `the metric says ${lagSeconds} s`);
  assert.ok((await status()).ledger.lagSeconds < 60, "the status says the same");
  const clockSeconds = await gauge("gateway_clock_disagreement_seconds");
  assert.ok(Math.abs(clockSeconds + AHEAD_SECONDS) < 10, `${clockSeconds}`);
});

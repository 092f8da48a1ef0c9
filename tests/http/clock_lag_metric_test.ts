// needs: neutral
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { until } from "../until.ts";
import { gatewayOfFile, METRICS_TOKEN } from "./test_gateway.ts";

/** This machine's clock is five minutes ahead; the network is well. */
const AHEAD_SECONDS = 300;
let closing: ReturnType<typeof setInterval>;
// Before the network is stopped.
after(() => clearInterval(closing));
const { on, api } = gatewayOfFile({
  settings: { metricsToken: METRICS_TOKEN },
  now: () => Date.now() + AHEAD_SECONDS * 1_000,
  monotonicMs: () => performance.now(),
});
before(() => void (closing = setInterval(() => on.network.closeLedger(), 1_000)));

test("status and metric report a ledger lag below 60 s while this machine's clock is 300 s ahead", async () => {
  const status = async () => (await api.request("GET", "/v1/status")).body;
  const { ledger, nodes } = await until(async () => {
    const reported = await status();
    return reported.ledger.clockDisagreesBySeconds !== null && reported;
  });
  assert.ok(Math.abs(ledger.clockDisagreesBySeconds + AHEAD_SECONDS) < 10, `${ledger.clockDisagreesBySeconds}`);
  assert.equal(nodes[0].condition, "well");
  // docs/alerts.yml alerts above 60 for two minutes: "The network has stopped, or every node is behind".
  const lagSeconds = (await api.figure("gateway_ledger_lag_seconds"))!;
  assert.ok(lagSeconds < 60, `the metric says ${lagSeconds} s`);
  assert.ok((await status()).ledger.lagSeconds < 60, "the status says the same");
  const clockSeconds = (await api.figure("gateway_clock_disagreement_seconds"))!;
  assert.ok(Math.abs(clockSeconds + AHEAD_SECONDS) < 10, `${clockSeconds}`);
});

// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { startGateway, startTestNetwork } from "../http/test_gateway.ts";
import { until } from "../until.ts";

test("a gateway with a new store shows no history before the first ledger in its settings", async () => {
  const on = await startTestNetwork();
  const firstLedger = on.network.closeLedger().sequence;
  on.network.closeLedger();
  const api = await startGateway(on, { settings: { firstLedger: String(firstLedger) } });
  try {
    const ranges = await until(async () => {
      const { history } = (await api.request("GET", "/v1/status")).body;
      return history.ranges.length > 0 && history.ranges;
    });
    assert.equal(ranges[0].fromLedger, firstLedger);
    const { body } = await api.request("GET", "/v1/events");
    assert.equal(body.oldestLedger, firstLedger);
  } finally {
    await api.stop();
    await on.network.stop();
  }
});

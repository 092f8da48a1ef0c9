// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore } from "../../lib/store/open.ts";
import { until } from "../until.ts";
import { METRICS_TOKEN, networkOfFile, type RpcFetch, startGateway } from "./test_gateway.ts";

const on = networkOfFile();

test("a gateway that stands by, and is only scraped, tells that its node is well again once that is back", async () => {
  const store = await openStore("memory:", { isShared: true });
  const leader = await startGateway(on, { store: () => store });
  await until(async () => await store.events.watcherState() !== undefined);
  let isAway = false;
  const fetch: RpcFetch = (url, init) =>
    isAway ? Promise.reject(new TypeError("connection refused")) : on.fetch(url, init);
  const standby = await startGateway(on, { store: () => store, fetch, settings: { metricsToken: METRICS_TOKEN } });
  try {
    await until(async () => await standby.figure("gateway_payments_expiring_complete") === 1);
    isAway = true;
    for (let read = 0; read < 3; read++) {
      const { status } = await standby.request("GET", `/v1/wallets/${on.sandbox.accounts.owner.address}/devices`);
      assert.equal(status, 502);
    }
    assert.equal(await standby.figure("gateway_rpc_node_up"), 0);
    isAway = false;
    await until(async () => await standby.figure("gateway_rpc_node_up") === 1, 10_000);
  } finally {
    await Promise.all([leader.stop(), standby.stop()]);
    await store.close();
  }
});

// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore } from "../../lib/store/open.ts";
import { until } from "../until.ts";
import { METRICS_TOKEN, networkOfFile, type RpcFetch, startGateway } from "./test_gateway.ts";

const on = networkOfFile();

/** Starts a leader and a follower on one store. */
async function startStandby(fetch: RpcFetch) {
  const store = await openStore("memory:", { isShared: true });
  const leader = await startGateway(on, { store: () => store });
  await until(async () => await store.events.watcherState() !== undefined);
  const clock = { aheadMs: 0 };
  const monotonicMs = () => performance.now() + clock.aheadMs;
  const settings = { metricsToken: METRICS_TOKEN };
  const standby = await startGateway(on, { store: () => store, fetch, settings, monotonicMs });
  await until(async () => await standby.figure("gateway_payments_expiring_complete") === 1);
  return {
    standby,
    clock,
    async stop() {
      await Promise.all([leader.stop(), standby.stop()]);
      await store.close();
    },
  };
}

test("a follower that only serves metrics shows its node as up again after the node is back", async () => {
  let isAway = false;
  const { standby, stop } = await startStandby(async (url, init) => {
    if (isAway) throw new TypeError("connection refused");
    return await on.fetch(url, init);
  });
  try {
    isAway = true;
    for (let read = 0; read < 3; read++) {
      const { status } = await standby.request("GET", `/v1/wallets/${on.sandbox.accounts.owner.address}/devices`);
      assert.equal(status, 502);
    }
    assert.equal(await standby.figure("gateway_rpc_node_up"), 0);
    isAway = false;
    await until(async () => await standby.figure("gateway_rpc_node_up") === 1, 10_000);
  } finally {
    await stop();
  }
});

test("a follower that only serves metrics shows no contract problem after the contracts are back", async () => {
  let isEmpty = true;
  const { standby, clock, stop } = await startStandby(async (url, init) => {
    const answer = await on.fetch(url, init);
    if (!isEmpty || JSON.parse(String(init.body)).method !== "getLedgerEntries") return answer;
    const body = await answer.json();
    return Response.json({ ...body, result: { ...body.result, entries: [] } });
  });
  try {
    await until(async () => await standby.figure("gateway_contract_problems") === 3);
    isEmpty = false;
    // Longer than the follower waits before it checks contracts with a problem again.
    clock.aheadMs = 61_000;
    await until(async () => await standby.figure("gateway_contract_problems") === 0, 10_000);
  } finally {
    await stop();
  }
});

// needs: neutral
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openStore } from "../../lib/store/open.ts";
import { parseExposition } from "../exposition.ts";
import { until } from "../until.ts";
import {
  type GatewayUnderTest,
  type RpcFetch,
  startGateway,
  startTestNetwork,
  type TestNetwork,
} from "./test_gateway.ts";

const TOKEN = "scrape-me-0123456789";

let on: TestNetwork;
before(async () => on = await startTestNetwork());
after(() => on.network.stop());

async function figure(api: GatewayUnderTest, name: string): Promise<number | undefined> {
  const request = new Request("http://gateway.test/metrics", { headers: { authorization: `Bearer ${TOKEN}` } });
  const response = await api.gateway.fetch(request, { remoteAddress: "203.0.113.9" });
  return parseExposition(await response.text()).get(name)?.samples[0]?.value;
}

/** Stands by, and is asked for nothing but its metrics from now on. */
async function startStandby(fetch: RpcFetch) {
  const store = await openStore("memory:", { isShared: true });
  const leader = await startGateway(on, { store: () => store });
  await until(async () => await store.events.watcherState() !== undefined);
  const clock = { aheadMs: 0 };
  const monotonicMs = () => performance.now() + clock.aheadMs;
  const settings = { metricsToken: TOKEN };
  const standby = await startGateway(on, { store: () => store, fetch, settings, monotonicMs });
  await until(async () => await figure(standby, "gateway_payments_expiring_complete") === 1);
  return {
    standby,
    clock,
    async stop() {
      await Promise.all([leader.stop(), standby.stop()]);
      await store.close();
    },
  };
}

test("a gateway that stands by, and is only scraped, tells that its node is well again once that is back", async () => {
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
    assert.equal(await figure(standby, "gateway_rpc_node_up"), 0);
    isAway = false;
    await until(async () => await figure(standby, "gateway_rpc_node_up") === 1, 10_000);
  } finally {
    await stop();
  }
});

test("a gateway that stands by, and is only scraped, tells of contracts that are there again", async () => {
  let isEmpty = true;
  const { standby, clock, stop } = await startStandby(async (url, init) => {
    const answer = await on.fetch(url, init);
    if (!isEmpty || JSON.parse(String(init.body)).method !== "getLedgerEntries") return answer;
    const body = await answer.json();
    return Response.json({ ...body, result: { ...body.result, entries: [] } });
  });
  try {
    await until(async () => await figure(standby, "gateway_contract_problems") === 3);
    isEmpty = false;
    // Longer than it waits after a look that found something wrong.
    clock.aheadMs = 61_000;
    await until(async () => await figure(standby, "gateway_contract_problems") === 0, 10_000);
  } finally {
    await stop();
  }
});

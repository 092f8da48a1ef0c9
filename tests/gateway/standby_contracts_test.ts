// needs: neutral
import { beforeEach, test } from "node:test";
import { openStore } from "../../lib/store/open.ts";
import { type GatewayUnderTest, networkOfFile, type RpcFetch, startGateway } from "../http/test_gateway.ts";
import { until } from "../until.ts";

interface Shown {
  problem: string | null;
  checkedAt: string | null;
}

const on = networkOfFile();
let store: Awaited<ReturnType<typeof openStore>>;
let aheadMs: number;
beforeEach(async () => {
  store = await openStore("memory:", { isShared: true });
  aheadMs = 0;
});

const gateway = (fetch: RpcFetch) =>
  startGateway(on, { store: () => store, fetch, monotonicMs: () => performance.now() + aheadMs });
const contracts = async (api: GatewayUnderTest): Promise<Shown[]> =>
  (await api.request("GET", "/v1/status")).body.contracts;
const isLookedAt = async (api: GatewayUnderTest) => (await contracts(api)).every(({ checkedAt }) => checkedAt !== null);
const tellsOfIt = async (api: GatewayUnderTest) => (await contracts(api)).every(({ problem }) => problem !== null);

/** A node that can be away, or have lost the contracts. */
function createNode(isAway: boolean) {
  const node = { isAway, isEmpty: false };
  const fetch: RpcFetch = async (url, init) => {
    if (node.isAway) throw new TypeError("connection refused");
    const answer = await on.fetch(url, init);
    if (!node.isEmpty || JSON.parse(String(init.body)).method !== "getLedgerEntries") return answer;
    const body = await answer.json();
    return Response.json({ ...body, result: { ...body.result, entries: [] } });
  };
  return { node, fetch };
}

test("a gateway that stands by looks at its contracts once its node is back, though nothing happens at them", async () => {
  const leader = await gateway(on.fetch);
  await until(() => isLookedAt(leader));
  const { node, fetch } = createNode(true);
  const standby = await gateway(fetch);
  try {
    await until(() => /checking the contracts failed/.test(standby.log()));
    node.isAway = false;
    // Longer than it waits after a look that failed.
    aheadMs = 6_000;
    await until(() => isLookedAt(standby), 5_000);
  } finally {
    await Promise.all([leader.stop(), standby.stop()]);
  }
});

test("a gateway that stands by tells of contracts that are gone since it looked at them, as the one that watches", async () => {
  const { node, fetch } = createNode(false);
  const leader = await gateway(fetch);
  await until(() => isLookedAt(leader));
  const standby = await gateway(fetch);
  try {
    await until(() => isLookedAt(standby));
    node.isAway = true;
    await until(() => /"kind":"node_failed"/.test(leader.log()));
    Object.assign(node, { isAway: false, isEmpty: true });
    await until(() => tellsOfIt(leader));
    // Longer than a look that found all well is good for.
    aheadMs = 601_000;
    await until(() => tellsOfIt(standby), 5_000);
  } finally {
    await Promise.all([leader.stop(), standby.stop()]);
  }
});

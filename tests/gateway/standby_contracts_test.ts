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
const reportsProblem = async (api: GatewayUnderTest) => (await contracts(api)).every(({ problem }) => problem !== null);

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

test("a follower checks its contracts when its node is back, also without new events of these contracts", async () => {
  const leader = await gateway(on.fetch);
  await until(() => isLookedAt(leader));
  const { node, fetch } = createNode(true);
  const standby = await gateway(fetch);
  try {
    await until(() => /checking the contracts failed/.test(standby.log()));
    node.isAway = false;
    // Longer than the follower waits after a failed check.
    aheadMs = 6_000;
    await until(() => isLookedAt(standby), 5_000);
  } finally {
    await Promise.all([leader.stop(), standby.stop()]);
  }
});

test("a follower reports contracts that disappeared after its last check, as the leader does", async () => {
  const { node, fetch } = createNode(false);
  const leader = await gateway(fetch);
  await until(() => isLookedAt(leader));
  const standby = await gateway(fetch);
  try {
    await until(() => isLookedAt(standby));
    node.isAway = true;
    await until(() => /"kind":"node_failed"/.test(leader.log()));
    Object.assign(node, { isAway: false, isEmpty: true });
    await until(() => reportsProblem(leader));
    // Longer than a successful check remains valid.
    aheadMs = 601_000;
    await until(() => reportsProblem(standby), 5_000);
  } finally {
    await Promise.all([leader.stop(), standby.stop()]);
  }
});

import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { parseExposition } from "../exposition.ts";
import { startServe } from "../faults/serve_process.ts";
import { createClient } from "./client.ts";
import { type RpcProxy, startRpcProxy } from "./rpc_proxy.ts";
import { flagsFor, makeKey, newAccount, type SandboxInfo } from "./sandbox_process.ts";

const SCRAPE_TOKEN = "scrape-me-0123456789";
const NODE_TOKENS = ["first-secret-token", "second-secret-token"];

interface NodeStatus {
  node: string;
  inUse: boolean;
  condition: "well" | "doubted" | "failing" | "lagging";
  problem: string | null;
  lagSeconds: number | null;
}

/**
 * The first of a gateway's two nodes fails for a moment, in every way a node can fail. Clients that read and pay
 * see no failure, and the gateway uses the first node again as soon as the node recovers.
 */
export async function tellFailover(info: SandboxInfo, command: string[], folder: string): Promise<void> {
  await withTwoNodes(info, command, folder, async ({ first, second, works, nodes, until, inUseByMetrics }) => {
    await works();
    const stands = (await nodes()).map(({ inUse, condition }) => `${inUse} ${condition}`);
    assert.deepEqual(stands, ["true well", "false well"]);
    await rests(second, works);
    for (const [fault, problem] of [["breaks off", /^could not be reached/], [500, /^answered HTTP 500$/]] as const) {
      first.fault = fault;
      await works();
      const [broken, other] = await nodes();
      assert.deepEqual([broken!.inUse, other!.inUse], [false, true]);
      assert.match(broken!.problem!, problem);
      assert.ok(["doubted", "failing"].includes(broken!.condition), broken!.condition);
      assert.deepEqual(await inUseByMetrics(), [0, 1]);
      first.fault = undefined;
      await until(([first]) => first!.inUse && first!.condition === "well");
      assert.deepEqual(await inUseByMetrics(), [1, 0]);
      await rests(second, works);
    }
  });
}

/** Calls about the node's network, the ledgers that it holds, and whether they are the first node's. */
const RARE = ["getNetwork", "getHealth", "getLedgers"];

/** Waits until clients work without a call to the node. On a slow machine a late answer of the other node counts as lagging. */
async function rests({ asked }: RpcProxy, works: () => Promise<void>): Promise<void> {
  for (let tries = 1;; tries++) {
    const before = asked.length;
    await works();
    const calls = asked.slice(before).filter((method) => !RARE.includes(method));
    if (calls.length === 0) return;
    assert.ok(tries < 10, `the node does not rest: ${calls}`);
  }
}

/** The gateway leaves a node that keeps failing, and returns only after half a minute without failures: no flapping. */
export async function tellOutage(info: SandboxInfo, command: string[], folder: string): Promise<void> {
  await withTwoNodes(info, command, folder, async ({ first, works, nodes, until, changes }) => {
    await works();
    first.fault = "breaks off";
    await until(([first]) => first!.condition === "failing", works);
    first.fault = undefined;
    const mendedAtMs = Date.now();
    await until(([first]) => first!.inUse, async () => {
      await works();
      const [broken] = await nodes();
      assert.ok(broken!.inUse || broken!.condition === "failing");
      await new Promise((resolve) => setTimeout(resolve, 500));
    });
    assert.ok(Date.now() - mendedAtMs > 30_000, "it was trusted at once");
    await works();
    const [left, back, ...more] = changes();
    assert.deepEqual([left!.level, left!.message, left!.node], ["warn", "RPC node is failing", first.url]);
    assert.match(String(left!.problem), /^could not be reached/);
    const { level, message, node, asked } = back!;
    assert.deepEqual([level, message, node, asked], ["info", "RPC node is well again", first.url, first.url]);
    assert.deepEqual(more, []);
  });
}

/** The gateway also leaves a node that lags. */
export async function tellLag(info: SandboxInfo, command: string[], folder: string): Promise<void> {
  await withTwoNodes(info, command, folder, async ({ first, second, works, nodes, until, changes }) => {
    await works();
    const lag = (time: string | number) => typeof time === "string" ? String(Number(time) - 60) : time - 60;
    first.change = ({ latestLedgerCloseTime, closeTime, ...more }) => ({
      ...more,
      ...(latestLedgerCloseTime === undefined ? {} : { latestLedgerCloseTime: lag(latestLedgerCloseTime) }),
      ...(closeTime === undefined ? {} : { closeTime: lag(closeTime) }),
    });
    // How old a ledger is shows only beside another node's: the second is asked when the first breaks off. More than once,
    // on a busy machine, would make the first one that fails.
    first.fault = "breaks off once";
    await until(([first]) => first!.condition === "lagging", works);
    const [lagging, other] = await nodes();
    assert.ok(lagging!.lagSeconds! >= 50 && other!.inUse && !lagging!.inUse, JSON.stringify([lagging, other]));
    assert.match(lagging!.problem!, /^its newest ledger is \d+ s older than that of another node$/);
    await works();
    assert.deepEqual(changes().map(({ message, node, asked }) => [message, node, asked]), [
      ["RPC node is lagging", first.url, second.url],
    ]);
  });
}

/** A gateway with two nodes. */
export interface Pair {
  info: SandboxInfo;
  api: ReturnType<typeof createClient>;
  first: RpcProxy;
  second: RpcProxy;
  /** Reads, and registers a card: all of it is answered as if no node had ever failed. */
  works(): Promise<void>;
  nodes(): Promise<NodeStatus[]>;
  /** Waits until the nodes stand so; does `meanwhile` over and over. */
  until(stand: (nodes: NodeStatus[]) => boolean, meanwhile?: () => Promise<void>): Promise<void>;
  /** Of the first and of the second node, as a scraper sees it. */
  inUseByMetrics(): Promise<(number | undefined)[]>;
  /** The log lines about nodes that the gateway left or returned to. */
  changes(): Record<string, unknown>[];
}

/** A gateway with its own store and two proxies of the sandbox's node. */
export async function withTwoNodes(
  info: SandboxInfo,
  command: string[],
  folder: string,
  story: (pair: Pair) => Promise<void>,
): Promise<void> {
  const store = `sqlite:${join(mkdtempSync(join(folder, "two-nodes-")), "gateway.db")}`;
  const key = await makeKey(command, store, { scopes: "read,write", rate: 6_000 });
  const [first, second] = [await startRpcProxy(info.rpc), await startRpcProxy(info.rpc)];
  const { "rpc-url": _, ...flags } = flagsFor(info, { store, "poll-ms": "100", "log-level": "debug" });
  const urls = [`${first.url}/${NODE_TOKENS[0]}`, `${second.url}/${NODE_TOKENS[1]}`];
  const env = { SERVICE_API_RPC_URL: urls.join(), SERVICE_API_METRICS_TOKEN: SCRAPE_TOKEN };
  const gateway = await startServe(flags, { command, env });
  const api = createClient(gateway.url, key);
  const owner = await newAccount(info);
  const nodes = async () => (await api.get("/v1/status")).body.nodes as NodeStatus[];
  try {
    await story({
      info,
      api,
      first,
      second,
      async works() {
        const deviceHash = crypto.randomUUID().replaceAll("-", "").repeat(2);
        const { agent, merchant } = info.accounts;
        assert.equal((await api.get(`/v1/merchants/${merchant.address}/pending`)).status, 200);
        const registered = await api.write(owner, { kind: "registerDevice", deviceHash, agent: agent.address });
        assert.equal(registered.status, 200, JSON.stringify(registered.body));
        const device = await api.get(`/v1/devices/${deviceHash}`);
        assert.deepEqual([device.status, device.body.owner], [200, owner.address], "a caller reads its own write");
      },
      nodes,
      async until(stand, meanwhile = () => new Promise((resolve) => setTimeout(resolve, 50))) {
        const deadline = Date.now() + 300_000;
        while (!stand(await nodes())) {
          assert.ok(Date.now() < deadline, JSON.stringify(await nodes()));
          await meanwhile();
        }
      },
      async inUseByMetrics() {
        const headers = { authorization: `Bearer ${SCRAPE_TOKEN}` };
        const page = await (await fetch(`${gateway.url}/metrics`, { headers })).text();
        const { samples } = parseExposition(page).get("gateway_rpc_node_in_use")!;
        return [first, second].map(({ url }) => samples.find(({ labels }) => labels.node === url)?.value);
      },
      changes: () => gateway.lines().filter(({ message }) => String(message).startsWith("RPC node ")),
    });
    gateway.signal("SIGTERM");
    assert.equal(await gateway.ended, 0, gateway.log());
  } finally {
    gateway.kill();
    await first.stop();
    await second.stop();
  }
  assert.ok(gateway.log().includes(first.url), "the log names the node");
  for (const token of NODE_TOKENS) assert.ok(!gateway.log().includes(token), "a node's token was logged");
}

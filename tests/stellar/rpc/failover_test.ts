// needs: once
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { createEscrow } from "../../../lib/escrow/escrow.ts";
import { sleep } from "../../../lib/clock.ts";
import type { HttpServer } from "../../../lib/runtime/serve.ts";
import { serveHttp } from "../../../lib/runtime/serve.ts";
import type { Network } from "../../../lib/sandbox/network_types.ts";
import { createRpcServer } from "../../../lib/sandbox/rpc/server.ts";
import { createRpcClient, type NodesRpcClient } from "../../../lib/stellar/rpc/client.ts";
import { askNewest } from "../../../lib/stellar/fresh_read.ts";
import { createHead, type Head } from "../../../lib/stellar/head.ts";
import { type Sandbox, signed, startSandbox } from "../../escrow/sandbox.ts";
import { memoryOfEscrow } from "../transactions/memory_submission_log.ts";

/** A real RPC server on a real port, which can be stopped, held back to an old ledger, or made to lose its answers. */
interface Node {
  url: string;
  /** Methods it was asked, in order. */
  asked: string[];
  stop(): Promise<boolean>;
  start(): Promise<void>;
  /** From now on it knows no newer ledger than the network's newest. */
  freeze(): void;
  thaw(): void;
  /** Does what it is asked, and its answer breaks off. */
  loses: Set<string>;
  /** Answers this method with HTTP 500. */
  refuses: Set<string>;
}

let sandbox: Sandbox;
before(async () => sandbox = await startSandbox());
after(() => sandbox.network.stop());

async function startNode(network: Network): Promise<Node> {
  let frozen: ReturnType<Network["latestLedger"]> | undefined;
  const shown = new Proxy(network, {
    get(target, name) {
      if (name === "latestLedger") return () => frozen ?? target.latestLedger();
      const value = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const rpc = createRpcServer({ network: shown, version: "test", now: sandbox.nowMs });
  let server: HttpServer | undefined;
  let port = 0;
  const node: Node = {
    url: "",
    asked: [],
    loses: new Set(),
    refuses: new Set(),
    freeze: () => frozen = network.latestLedger(),
    thaw: () => frozen = undefined,
    async start() {
      server = await serveHttp({
        hostname: "127.0.0.1",
        port,
        idleTimeoutMs: 60_000,
        async fetch(request) {
          const body = await request.text();
          const { method } = JSON.parse(body) as { method: string };
          node.asked.push(method);
          if (node.refuses.has(method)) return new Response("no", { status: 500 });
          const answer = await rpc.fetch(new Request(request.url, { method: "POST", headers: request.headers, body }));
          if (node.loses.has(method)) return new Response('{"jsonrpc":"2.0","id":');
          // A kept connection would still reach a server that has stopped.
          answer.headers.set("connection", "close");
          return answer;
        },
      });
      port = server.port;
      node.url = server.url;
    },
    stop: () => server!.stop({ drainMs: 1_000 }),
  };
  await node.start();
  return node;
}

let a: Node;
let b: Node;
let rpc: NodesRpcClient;
let head: Head;
let reported: string[];
beforeEach(async () => {
  a = await startNode(sandbox.network);
  b = await startNode(sandbox.network);
  reported = [];
  const { monotonicMs } = sandbox.clock;
  const clock = {
    ...sandbox.clock,
    /** Time-outs are real; what is waited for otherwise goes by the sandbox's time. */
    async wait(ms: number, signal?: AbortSignal) {
      const endsAtMs = monotonicMs() + ms;
      if (ms > 3_000) await sleep(ms, signal);
      else while (monotonicMs() < endsAtMs && !signal?.aborted) await sleep(1);
    },
  };
  head = createHead({ clock: { ...sandbox.clock, wait: passSecond }, ask: (node) => askNewest(rpc, { node }) });
  rpc = createRpcClient({
    urls: [a.url, b.url],
    fetch,
    clock,
    head,
    networkPassphrase: sandbox.network.passphrase,
    onNodeChange: ({ name, condition }) => reported.push(`${name === a.url ? "a" : "b"} ${condition}`),
  });
});
afterEach(async () => {
  await a.stop();
  await b.stop();
});

/** A wait that lets a second of the sandbox's time pass, however long it is for. */
function passSecond(_ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => (sandbox.pass(1), resolve()), 1);
    signal?.addEventListener("abort", () => (clearTimeout(timer), resolve()));
  });
}

/** Lets time pass: a ledger closes every five seconds, and a call every second gives the probes their occasion. */
async function pass(seconds: number): Promise<void> {
  for (let second = 1; second <= seconds; second++) {
    sandbox.pass(1);
    if (second % 5 === 0) sandbox.network.closeLedger();
    await rpc.getLatestLedger();
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

const inUse = () => rpc.nodes().find((node) => node.inUse)!.name;

describe("two RPC nodes of one network", () => {
  test("no call fails while the first node is down, and the client uses it again after a healthy period", async () => {
    sandbox.network.closeLedger();
    await pass(2);
    assert.ok(!b.asked.includes("getLatestLedger"));
    await a.stop();
    await pass(20);
    assert.deepEqual([reported, inUse()], [["a failing"], b.url]);
    await a.start();
    const whileDown = a.asked.filter((method) => method === "getLatestLedger").length;
    await pass(20);
    assert.equal(inUse(), b.url, "not before it has proved itself");
    assert.equal(a.asked.filter((method) => method === "getLatestLedger").length, whileDown);
    await pass(60);
    assert.deepEqual([reported, inUse()], [["a failing", "a well"], a.url]);
  });

  test("the client leaves a node that answers from an old ledger, and reports that it lags", async () => {
    await pass(5);
    a.freeze();
    await pass(80);
    assert.deepEqual([reported, inUse()], [["a lagging"], b.url]);
    assert.equal(head.sequence, sandbox.network.latestLedger().sequence);
    assert.match(rpc.nodes()[0]!.problem!, /newest ledger is \d+ s older/);
    a.thaw();
    await pass(100);
    assert.deepEqual([reported, inUse()], [["a lagging", "a well"], a.url]);
  });

  test("the client leaves a node whose health check succeeds but whose other calls fail, for longer each time", async () => {
    a.refuses.add("getLatestLedger");
    await pass(300);
    const left = reported.filter((change) => change === "a failing").length;
    assert.ok(left >= 1 && left <= 4, reported.join(", "));
  });

  test("the client never uses a node of another network", async () => {
    const other = createRpcClient({
      urls: [a.url, b.url],
      fetch,
      clock: { ...sandbox.clock, wait: sleep },
      networkPassphrase: "Public Global Stellar Network ; September 2015",
    });
    await assert.rejects(other.getLatestLedger(), /is of another network \("[^"]+"\) \(getLatestLedger\)/);
    assert.ok(!a.asked.includes("getLatestLedger") && !b.asked.includes("getLatestLedger"));
    assert.deepEqual(
      (await other.networks()).map(({ passphrase }) => passphrase),
      Array(2).fill(sandbox.network.passphrase),
    );
  });

  test("after lost sends the gateway confirms the envelope, and the network applies it", async () => {
    sandbox.network.closeLedger();
    const escrow = createEscrow({
      rpc,
      head,
      clock: { ...sandbox.clock, wait: passSecond },
      contracts: sandbox.contracts,
      networkPassphrase: sandbox.network.passphrase,
      submitTimeoutMs: 60_000,
      maxFee: 10_000_000,
      ...memoryOfEscrow(),
      onProblem: () => {},
    });
    const lossy = [[a], [a, b]];
    for (const [index, nodes] of lossy.entries()) {
      const deviceHash = String(index).repeat(64);
      const prepared = await escrow.transactions.prepare({
        source: sandbox.owner.publicKey(),
        operation: { kind: "registerDevice", deviceHash, agent: sandbox.agent.publicKey() },
      });
      for (const node of nodes) node.loses.add("sendTransaction");
      const envelope = signed(prepared.xdr, sandbox.network.passphrase, sandbox.owner);
      const { hash, ledger } = await escrow.transactions.submit(envelope);
      assert.equal(hash, prepared.hash);
      assert.equal(sandbox.network.transaction(hash)?.ledger, ledger);
      assert.equal((await escrow.reads.device(deviceHash)).owner, sandbox.owner.publicKey());
    }
  });
});

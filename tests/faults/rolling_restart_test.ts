import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { mintKey } from "../../lib/keys/api_key.ts";
import { type HttpServer, serveHttp } from "../../lib/runtime/serve.ts";
import { openStore } from "../../lib/store/open_store.ts";
import { signed } from "../e2e/client.ts";
import { startTestNetwork, type TestNetwork } from "../http/test_gateway.ts";
import { ConnectionError, plainClient } from "./plain_client.ts";
import { freePort, startServe } from "./serve_process.ts";

const RESTARTS = 10;
const CLIENTS = 8;
const SERVES_FOR_MS = 300;
const PAUSE_MS = 15;

let folder: string;
let on: TestNetwork;
let rpc: HttpServer;
let authorization: string;
let flags: Record<string, string>;
/** Holds the node's answers to this method back until it is released. */
let held: { method: string; arrived: () => void; released: Promise<void> } | undefined;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "gateway-restart-"));
  on = await startTestNetwork();
  rpc = await serveHttp({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeoutMs: 60_000,
    async fetch(request) {
      const body = await request.text();
      const { method } = JSON.parse(body) as { method: string };
      if (held?.method === method) {
        held.arrived();
        await held.released;
      }
      return await on.fetch(request.url, { method: "POST", headers: request.headers, body });
    },
  });
  const store = `sqlite:${join(folder, "gateway.db")}`;
  const random = (length: number) => crypto.getRandomValues(new Uint8Array(length));
  const { key, record } = mintKey({
    name: "load",
    scopes: ["read", "write"],
    rate: 1_000_000,
    now: Date.now(),
    random,
  });
  const opened = await openStore(store);
  await opened.insertKey(record);
  await opened.close();
  authorization = `Bearer ${key}`;
  const { deviceRegistry, agentRegistry, paymentEscrow } = on.sandbox.contracts;
  flags = {
    "port": String(await freePort()),
    store,
    "rpc-url": rpc.url,
    "network-passphrase": on.network.passphrase,
    "device-registry": deviceRegistry,
    "agent-registry": agentRegistry,
    "payment-escrow": paymentEscrow,
  };
});
after(async () => {
  await rpc.stop({ drainMs: 1_000 });
  await on.network.stop();
  rmSync(folder, { recursive: true, force: true });
});

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Count {
  answers: number;
  refusals: number;
  /** Ids of requests on new connections that were closed before anything was answered on them. */
  unheard: string[];
  /** Everything that must not happen. */
  lost: string[];
}

/**
 * Asks on and on until told to stop. Asks again where the connection was refused, and where a new one was closed without
 * an answer: the system had accepted it, the gateway had read nothing from it.
 */
async function ask(isOver: () => boolean, count: Count, client: number): Promise<void> {
  const { request, close } = plainClient(Number(flags.port), { authorization });
  const { merchant } = on.sandbox.accounts;
  const requests = [
    ["GET", "/v1/network"],
    ["GET", `/v1/merchants/${merchant.address}/pending`],
    ["GET", "/v1/events"],
    [
      "POST",
      "/v1/payments/check",
      JSON.stringify({ deviceHash: "ab".repeat(32), asset: on.sandbox.asset, amount: "1" }),
    ],
  ] as const;
  for (let asked = 0; !isOver(); asked++) {
    const id = `client-${client}-${asked}`;
    const [method, path, body] = requests[asked % requests.length]!;
    const outcome = await request(method, path, { body, headers: { "x-request-id": id } })
      .catch((error: ConnectionError) => error);
    if (!(outcome instanceof ConnectionError)) {
      if (outcome.status === 200) count.answers++;
      else count.lost.push(`${path} ${outcome.status} ${outcome.body}`);
    } else if (outcome.code === "ECONNREFUSED") count.refusals++;
    else if (outcome.isFresh) count.unheard.push(id);
    else count.lost.push(`${path} ${outcome.code} on a kept connection`);
    // Now and then a connection rests, as a pool's do.
    await pause(outcome instanceof ConnectionError ? 20 : Math.random() * 2 * PAUSE_MS);
  }
  close();
}

test("ten restarts under load lose no request", { timeout: 60_000 }, async () => {
  const count: Count = { answers: 0, refusals: 0, unheard: [], lost: [] };
  let isOver = false;
  let gateway = await startServe({ ...flags, "log-level": "debug" });
  const clients = Array.from({ length: CLIENTS }, (_, index) => ask(() => isOver, count, index));
  const heard = new Set<unknown>();
  for (let restart = 0; restart < RESTARTS; restart++) {
    await pause(SERVES_FOR_MS);
    gateway.signal(restart % 2 === 0 ? "SIGTERM" : "SIGINT");
    assert.equal(await gateway.ended, 0);
    assert.equal(gateway.lines().at(-1)?.message, "gateway has stopped");
    for (const { requestId } of gateway.lines()) heard.add(requestId);
    gateway = await startServe({ ...flags, "log-level": "debug" });
  }
  isOver = true;
  await Promise.all(clients);
  gateway.signal("SIGTERM");
  assert.equal(await gateway.ended, 0);
  for (const { requestId } of gateway.lines()) heard.add(requestId);
  assert.deepEqual(count.lost, []);
  assert.deepEqual(count.unheard.filter((id) => heard.has(id)), [], "what got no answer was done all the same");
  assert.ok(count.answers > 500 && count.refusals > RESTARTS, JSON.stringify(count));
  assert.ok(heard.size > count.answers / 2, "the log says what was heard");
  // At the very moment of a stop a connection may be accepted and have said nothing yet: one a client, at most.
  assert.ok(count.unheard.length <= RESTARTS * CLIENTS / 2, JSON.stringify(count));
});

/** Starts a gateway and a submit that the node holds back, and answers once it is on its way. */
async function slowSubmit(extra: Record<string, string> = {}) {
  const gateway = await startServe({ ...flags, ...extra });
  const client = plainClient(Number(flags.port), { authorization });
  const { owner, agent } = on.sandbox.accounts;
  const operation = {
    kind: "registerDevice",
    deviceHash: crypto.randomUUID().replaceAll("-", "").repeat(2),
    agent: agent.address,
  };
  const prepared = await client.request("POST", "/v1/transactions/prepare", {
    body: JSON.stringify({ source: owner.address, operation }),
  });
  const { xdr, hash, networkPassphrase } = JSON.parse(prepared.body);
  let release = () => {};
  const arrived = new Promise<void>((resolve) => {
    const released = new Promise<void>((resolve) => release = resolve);
    held = { method: "sendTransaction", arrived: resolve, released };
  });
  const answer = client.request("POST", "/v1/transactions/submit", {
    body: JSON.stringify({ xdr: signed(xdr, networkPassphrase, owner.secret) }),
  });
  await arrived;
  return { gateway, answer, hash, release: () => (held = undefined, release()) };
}

test("a slow submit is answered though the gateway was told to stop, while new connections are refused", async () => {
  const { gateway, answer, hash, release } = await slowSubmit();
  gateway.signal("SIGTERM");
  const health = plainClient(Number(flags.port));
  const seen: string[] = [];
  while (seen.at(-1) !== "ECONNREFUSED") {
    const outcome = await health.request("GET", "/v1/health").then(
      ({ status, headers }) => `${status} ${headers.get("connection")?.toLowerCase()}`,
      ({ code, isFresh }: ConnectionError) => isFresh ? code : `kept ${code}`,
    );
    if (seen.at(-1) !== outcome) seen.push(outcome);
    await pause(5);
  }
  assert.ok(seen.includes("503 close"), `the health check told the load balancer first: ${seen.join(", ")}`);
  release();
  const { status, body, headers } = await answer;
  assert.deepEqual([status, JSON.parse(body).hash], [200, hash]);
  assert.equal(headers.get("connection")?.toLowerCase(), "close");
  assert.equal(await gateway.ended, 0);
  const stopping = gateway.lines().find(({ message }) => message === "gateway is stopping");
  assert.deepEqual([stopping?.message, stopping?.signal, stopping?.requestsInFlight], [
    "gateway is stopping",
    "SIGTERM",
    1,
  ]);
  assert.equal(gateway.lines().at(-1)?.message, "gateway has stopped");
});

test(
  "a submit that outlasts the drain is cut off, and the exit code and the last line say so",
  { timeout: 30_000 },
  async () => {
    const { gateway, answer, release } = await slowSubmit({ "submit-timeout-ms": "1000" });
    const outcome = answer.then(({ status }) => status, (error) => error);
    // It would wait for the node for ten seconds; the drain is over after a second and its margin.
    gateway.signal("SIGTERM");
    assert.equal(await gateway.ended, 1);
    const last = gateway.lines().at(-1);
    assert.deepEqual([last?.level, last?.requestsCutOff], ["error", 1]);
    assert.match(String(last?.message), /has stopped, and not everything could be finished/);
    release();
    assert.ok(await outcome instanceof ConnectionError);
  },
);

test("a second signal ends the gateway at once", async () => {
  for (const [signal, code] of [["SIGTERM", 143], ["SIGINT", 130]] as const) {
    const { gateway, answer, release } = await slowSubmit();
    const outcome = answer.then(({ status }) => status, (error) => error);
    gateway.signal("SIGTERM");
    while (gateway.lines().at(-1)?.message !== "gateway is stopping") await pause(5);
    gateway.signal(signal);
    assert.equal(await gateway.ended, code);
    assert.match(String(gateway.lines().at(-1)?.message), /ended at once by a second signal/);
    release();
    assert.ok(await outcome instanceof ConnectionError);
  }
});

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

/** Asks on and on until told to stop, and once more when the connection is refused; counts what it got. */
async function ask(isOver: () => boolean, counts: Map<string, number>, index: number): Promise<void> {
  const client = plainClient(Number(flags.port), { authorization });
  const requests = [
    ["GET", "/v1/network"],
    ["GET", `/v1/merchants/${on.sandbox.accounts.merchant.address}/pending`],
    ["GET", "/v1/events"],
    [
      "POST",
      "/v1/payments/check",
      JSON.stringify({ deviceHash: "ab".repeat(32), asset: on.sandbox.asset, amount: "1" }),
    ],
  ] as const;
  for (let count = index; !isOver(); count++) {
    const [method, path, body] = requests[count % requests.length]!;
    const outcome = await client.request(method, path, body).then(
      ({ status, body }) => status === 200 ? "200" : `${status} ${body}`,
      ({ code, isFresh }: ConnectionError) => code === "ECONNREFUSED" ? code : `${isFresh ? "fresh" : "kept"} ${code}`,
    );
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    // Now and then a connection rests, as a pool's do.
    await pause(outcome === "ECONNREFUSED" ? 20 : Math.random() * 2 * PAUSE_MS);
  }
  client.close();
}

test("ten restarts under load lose no request: a client sees answers, and refused connections meanwhile", {
  timeout: 60_000,
}, async () => {
  const counts = new Map<string, number>();
  let isOver = false;
  let gateway = await startServe(flags);
  const clients = Array.from({ length: CLIENTS }, (_, index) => ask(() => isOver, counts, index));
  for (let restart = 0; restart < RESTARTS; restart++) {
    await pause(SERVES_FOR_MS);
    gateway.signal(restart % 2 === 0 ? "SIGTERM" : "SIGINT");
    assert.equal(await gateway.ended, 0);
    assert.equal(gateway.lines().at(-1)?.message, "gateway has stopped", JSON.stringify(gateway.lines()));
    gateway = await startServe(flags);
  }
  isOver = true;
  await Promise.all(clients);
  gateway.signal("SIGTERM");
  assert.equal(await gateway.ended, 0);
  console.log(Object.fromEntries(counts));
  const { "200": answers = 0, ECONNREFUSED: refusals = 0, ...lost } = Object.fromEntries(counts);
  assert.deepEqual(lost, {});
  assert.ok(answers > 500 && refusals > RESTARTS, `${answers} answers, ${refusals} refusals`);
});

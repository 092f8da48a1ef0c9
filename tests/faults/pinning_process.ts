/*
 * Runs `gateway serve` on a public network of its own and has it deliver one event to each of several targets. Arguments:
 * the command of the program. Prints what came of it.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { serveHttp } from "../../lib/runtime/serve.ts";
import { createClient } from "../e2e/client.ts";
import { runGateway } from "../e2e/sandbox_process.ts";
import { startTestNetwork } from "../http/test_gateway.ts";
import { startCardTraffic } from "./card_traffic.ts";
import { buildPublicNetwork, PRIVATE, PUBLIC, PUBLIC_IMPOSTOR } from "./public_network.ts";
import { seededRandom } from "./seeded_random.ts";
import { startServe } from "./serve_process.ts";

export interface Pinning {
  /** What the API said to a webhook at each of these hosts. */
  creations: Record<string, { status: number; message?: string }>;
  /** The first attempt of each host. */
  attempts: Record<string, { outcome: string; statusCode: number | null; error: string | null }>;
  /** The names that TLS asked the public endpoint for, one for each request. */
  served: (string | undefined)[];
  impostorRequests: number;
  forbiddenConnections: Record<"private" | "loopback" | "proxy", number>;
}

/** Longer than an answer of the DNS is used again: until then a post goes where its name was vetted to be. */
const LOOK_UP_KEPT_MS = 5_500;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const command = process.argv.slice(2);
/** What each name has at first, and what it has once its webhook is there. */
const HOSTS: Record<string, [first: string[], then: string[]]> = {
  "hooks.example": [[PUBLIC], [PUBLIC]],
  "moved.example": [[PUBLIC], [PUBLIC]],
  "impersonated.example": [[PUBLIC_IMPOSTOR], [PUBLIC_IMPOSTOR]],
  "turns-private.example": [[PUBLIC], [PRIVATE]],
  "turns-loopback.example": [[PUBLIC], ["127.0.0.1"]],
  "turns-mixed.example": [[PUBLIC], [PUBLIC, PRIVATE]],
  "private.example": [[PRIVATE], [PUBLIC]],
  "mixed.example": [[PUBLIC, PRIVATE], [PUBLIC]],
};
let isLater = false;
const addressesOf = (name: string) => HOSTS[name]?.[isLater ? 1 : 0] ?? "missing";
const publicNetwork = await buildPublicNetwork(Object.keys(HOSTS), addressesOf);
const on = await startTestNetwork();
const traffic = await startCardTraffic(on, seededRandom(1));
const rpc = await serveHttp({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeoutMs: 60_000,
  fetch: async (request) =>
    await on.fetch(request.url, { method: "POST", headers: request.headers, body: await request.text() }),
});
const folder = mkdtempSync(join(tmpdir(), "gateway-pinning-"));
const store = `sqlite:${join(folder, "gateway.db")}`;
const keygen = ["keygen", "--name", "pinning", "--scopes", "read,webhooks", "--store", store, "--json"];
const { key } = JSON.parse((await runGateway(keygen, {}, command)).stdout);
const { deviceRegistry, agentRegistry, paymentEscrow } = on.sandbox.contracts;
const gateway = await startServe({
  store,
  "port": "0",
  "rpc-url": rpc.url,
  "poll-ms": "50",
  "network-passphrase": on.network.passphrase,
  "device-registry": deviceRegistry,
  "agent-registry": agentRegistry,
  "payment-escrow": paymentEscrow,
}, { command, env: publicNetwork.env });
const { url } = gateway.lines().find(({ message }) => message === "gateway is listening") as { url: string };
const api = createClient(url, key);

const pinning: Pinning = {
  creations: {},
  attempts: {},
  served: [],
  impostorRequests: 0,
  forbiddenConnections: { private: 0, loopback: 0, proxy: 0 },
};
const ids = new Map<string, string>();
for (const host of Object.keys(HOSTS)) {
  const { status, body } = await api.post("/v1/webhooks", { url: `https://${host}/in`, types: ["payment.authorized"] });
  pinning.creations[host] = { status, ...(status === 201 ? {} : { message: body.error.message }) };
  if (status === 201) ids.set(host, body.id);
}
isLater = true;
await pause(LOOK_UP_KEPT_MS);
traffic.closeLedger();
for (const [host, id] of ids) {
  for (;;) {
    const [attempt] = (await api.get(`/v1/webhooks/${id}/deliveries`)).body.deliveries;
    if (attempt === undefined) await pause(50);
    else {
      const { outcome, statusCode, error } = attempt;
      pinning.attempts[host] = { outcome, statusCode, error };
      break;
    }
  }
}
const { endpoint, impostor, forbidden } = publicNetwork;
pinning.served = endpoint.requests.map(({ serverName }) => serverName).sort();
pinning.impostorRequests = impostor.requests.length;
for (const name of ["private", "loopback", "proxy"] as const) {
  pinning.forbiddenConnections[name] = forbidden[name].connections;
}
gateway.signal("SIGTERM");
await gateway.ended;
await rpc.stop({ drainMs: 1_000 });
await on.network.stop();
await publicNetwork.close();
rmSync(folder, { recursive: true });
process.stdout.write(JSON.stringify(pinning), () => process.exit(0));

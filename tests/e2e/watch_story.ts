import assert from "node:assert/strict";
import { join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { type Family, parseExposition, type Sample } from "../exposition.ts";
import { startServe } from "../faults/serve_process.ts";
import { NOTHING_OWED } from "../well_status.ts";
import { createClient } from "./client.ts";
import { flagsFor, makeKey, type SandboxInfo } from "./sandbox_process.ts";

const TOKEN = "scrape-me-0123456789";

/** An operator watches a gateway: scrapes its metrics, looks at its status, reads its log down to the last line. */
export async function tellWatching(info: SandboxInfo, command: string[], folder: string): Promise<void> {
  const store = `sqlite:${join(folder, "watched.db")}`;
  const key = await makeKey(command, store, { scopes: "read,write", rate: 1_000 });
  const flags = flagsFor(info, { store, "log-level": "debug" });
  const gateway = await startServe(flags, { command, env: { SERVICE_API_METRICS_TOKEN: TOKEN } });
  try {
    await tellMetrics(info, gateway.url, key);
    await tellStatus(info, gateway.url, key);
  } finally {
    gateway.signal("SIGINT");
    assert.equal(await gateway.ended, 0, gateway.log());
  }
  const paths = gateway.lines().map(({ path }) => path);
  assert.ok(paths.includes("/metrics") && paths.includes("/v1/status"), "every request is in the log");
  for (const secret of [TOKEN, key, key.split("_").at(-1)!]) {
    assert.ok(!gateway.log().includes(secret), "it was logged");
  }
}

async function tellMetrics(info: SandboxInfo, url: string, key: string): Promise<void> {
  const page = (of: string, token?: string) =>
    fetch(`${of}/metrics`, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } });
  const scrape = async () => {
    const response = await page(url, TOKEN);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    return parseExposition(await response.text());
  };
  for (
    const [of, token, status, code] of [
      [info.gateway, TOKEN, 404, "not_found"],
      [url, undefined, 401, "unauthorized"],
      [url, key, 401, "unauthorized"],
    ] as const
  ) {
    const response = await page(of, token);
    assert.deepEqual([response.status, (await response.json()).error.code], [status, code]);
  }

  const api = createClient(url, key);
  for (let count = 0; count < 3; count++) assert.equal((await api.get("/v1/network")).status, 200);
  const families = await scrape();
  assert.equal(value(families, "gateway_requests_total", { method: "GET", route: "/v1/network", status: "200" }), 3);
  assert.equal(value(families, "gateway_rpc_node_in_use", { node: new URL(info.rpc).origin }), 1);
  assert.equal(value(families, "gateway_build_info", { version: packageJson.version }), 1);
  assert.ok(value(families, "process_resident_memory_bytes") > 10e6);
}

async function tellStatus(info: SandboxInfo, url: string, key: string): Promise<void> {
  const api = createClient(url, key);
  assert.equal((await createClient(url).get("/v1/status")).status, 401);
  const { sequence } = (await api.get("/v1/status")).body.ledger;
  // The watcher may be a poll behind.
  const held = async () => (await api.get("/v1/status")).body.history.ranges.at(-1)?.toLedger ?? 0;
  while (await held() < sequence) await new Promise((resolve) => setTimeout(resolve, 50));
  const { body } = await api.get("/v1/status");
  assert.equal(body.version, packageJson.version);
  assert.ok(Math.abs(Date.now() - Date.parse(body.startedAt)) < 60_000);
  assert.ok(body.ledger.sequence >= sequence && body.ledger.lagSeconds < 30 && body.ledger.closedAt !== null);
  const { ranges: [range, ...more], gaps, undecodedEvents } = body.history;
  assert.deepEqual([more, gaps, undecodedEvents], [[], [], 0]);
  assert.ok(range.fromLedger < range.toLedger);
  assert.deepEqual(body.nodes, [
    { node: new URL(info.rpc).origin, inUse: true, condition: "well", problem: null, lagSeconds: 0 },
  ]);
  assert.deepEqual(body.deliveries, NOTHING_OWED);
}

/** The value of the series with these labels; 0 without such a series. */
function value(families: Map<string, Family>, name: string, labels: Record<string, string> = {}): number {
  const has = (sample: Sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value);
  return families.get(name)?.samples.find(has)?.value ?? 0;
}

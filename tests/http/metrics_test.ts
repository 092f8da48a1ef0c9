// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreError, type StoreObserver } from "../../lib/store/store.ts";
import type { Family } from "../exposition.ts";
import { bentStore } from "../store/bent_store.ts";
import { gatewayOfFile, METRICS_TOKEN, startGateway } from "./test_gateway.ts";

const { on, api } = gatewayOfFile({ settings: { metricsToken: METRICS_TOKEN, defaultRate: "5" } });

async function page(authorization?: string, of = api): Promise<Response> {
  const headers = authorization === undefined ? {} : { authorization };
  const request = new Request("http://gateway.test/metrics", { headers: headers as HeadersInit });
  return await of.gateway.fetch(request, { remoteAddress: "203.0.113.9" });
}

/** The value of the series with these labels, undefined when there is none. */
function value(families: Map<string, Family>, name: string, labels: Record<string, string> = {}): number | undefined {
  const family = families.get(name) ?? families.get(name.replace(/_(bucket|sum|count)$/, ""));
  return family?.samples.find((sample) =>
    sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value)
  )?.value;
}

test("without the setting metricsToken the metrics page answers 404", async () => {
  const bare = await startGateway(on, { started: false });
  const response = await page(`Bearer ${METRICS_TOKEN}`, bare);
  assert.equal(response.status, 404);
  assert.equal((await response.json()).error.code, "not_found");
  await bare.stop();
});

test("the metrics page answers 401 to a wrong token and 429 to repeated guesses, but still serves the right token", async () => {
  for (const wrong of [undefined, "", "Basic x", `Bearer ${METRICS_TOKEN}x`, `Bearer ${METRICS_TOKEN.slice(1)}`]) {
    const response = await page(wrong);
    assert.equal(response.status, 401, String(wrong));
    assert.equal(response.headers.get("www-authenticate"), "Bearer");
    assert.ok(response.headers.get("x-request-id") && response.headers.get("x-ratelimit-limit"));
    assert.doesNotMatch(await response.text(), /gateway_/);
  }
  const refused = await page("Bearer guess");
  assert.equal(refused.status, 429);
  assert.ok(Number(refused.headers.get("retry-after")) > 0);
  const families = await api.scrape();
  assert.equal(value(families, "gateway_requests_limited_total", { by: "address" }), 1);
});

test("the metrics count requests by route pattern and status, never by the caller's path", async () => {
  const before = await api.scrape();
  const device = { method: "GET", route: "/v1/devices/:hash" };
  for (const hash of ["1".repeat(64), "2".repeat(64), "nonsense"]) await api.request("GET", `/v1/devices/${hash}`);
  for (const path of ["/wp-admin", "/.env", "/v1/devices"]) await api.request("GET", path);
  await api.request("PROPFIND", "/v1/health");
  const families = await api.scrape();
  assert.equal(value(families, "gateway_requests_total", { ...device, status: "404" }), 2);
  assert.equal(value(families, "gateway_requests_total", { ...device, status: "400" }), 1);
  assert.equal(value(families, "gateway_request_duration_seconds_count", device), 3);
  const others = (of: Map<string, Family>, status: string) =>
    value(of, "gateway_requests_total", { method: "other", route: "other", status }) ?? 0;
  assert.equal(others(families, "404") - others(before, "404"), 3);
  assert.equal(others(families, "405") - others(before, "405"), 1);
  for (const { labels } of families.get("gateway_requests_total")!.samples) {
    assert.match(labels.route!, /^(other|\/v1\/[a-z/:]+)$/);
  }
});

test("the metrics count requests that a key's rate refused", async () => {
  const key = await api.newKey({ rate: 1 });
  for (let i = 0; i < 4; i++) await api.request("GET", "/v1/network", { key });
  const families = await api.scrape();
  assert.equal(value(families, "gateway_requests_limited_total", { by: "key" }), 3);
  assert.equal(value(families, "gateway_requests_total", { method: "GET", route: "/v1/network", status: "429" }), 3);
});

test("the metrics count requests refused because the store has too many values of Idempotency-Key", async () => {
  const full = await startGateway(on, {
    settings: { metricsToken: METRICS_TOKEN },
    store: (store) => bentStore(store, { intents: { set: () => Promise.resolve("full") } }),
  });
  const by = { by: "idempotency_keys" };
  assert.equal(value(await full.scrape(), "gateway_requests_limited_total", by), 0, "so that the first is an increase");
  const { owner, agent } = on.sandbox.accounts;
  const operation = { kind: "registerDevice", deviceHash: "ab".repeat(32), agent: agent.address };
  const { status } = await full.prepare(owner, operation, { headers: { "idempotency-key": "one-too-many" } });
  assert.equal(status, 429);
  assert.equal(value(await full.scrape(), "gateway_requests_limited_total", by), 1);
  await full.stop();
});

test("the metrics measure the duration of requests, and count none in flight after all answers", async () => {
  const { status } = await api.request("GET", "/v1/events");
  assert.equal(status, 200);
  const families = await api.scrape();
  const events = { method: "GET", route: "/v1/events" };
  assert.ok(value(families, "gateway_request_duration_seconds_sum", events)! > 0);
  assert.equal(value(families, "gateway_requests_in_flight"), 0);
});

test("the metrics count node calls by method and outcome, and show the state of nodes and ledger", async () => {
  const families = await api.scrape();
  const node = "http://node.test";
  assert.ok(value(families, "gateway_rpc_requests_total", { node, method: "getLedgerEntries", outcome: "ok" })! > 0);
  assert.ok(value(families, "gateway_rpc_request_duration_seconds_count", { method: "getNetwork" })! > 0);
  assert.equal(value(families, "gateway_rpc_node_up", { node }), 1);
  assert.equal(value(families, "gateway_rpc_node_in_use", { node }), 1);
  assert.equal(value(families, "gateway_ledger_sequence"), on.network.latestLedger().sequence);
  assert.ok(value(families, "gateway_ledger_lag_seconds")! >= 0);
  assert.equal(value(families, "gateway_event_gaps"), 0);
  assert.equal(value(families, "gateway_deliveries_pending"), 0);
  assert.equal(value(families, "gateway_deliveries_oldest_seconds"), 0);
});

test("the metrics show version, runtime, memory, CPU time and start time", async () => {
  const families = await api.scrape();
  const [build] = families.get("gateway_build_info")!.samples;
  assert.match(build!.labels.version!, /^\d+\.\d+\.\d+/);
  assert.match(build!.labels.runtime!, /^(bun|deno)$/);
  assert.ok(value(families, "process_resident_memory_bytes")! > 1_000_000);
  assert.ok(value(families, "process_cpu_seconds_total")! > 0);
  assert.ok(Math.abs(value(families, "process_start_time_seconds")! - Date.now() / 1000) < 600);
});

test("the metrics contain no token, API key, node path or client address", async () => {
  const text = await (await page(`Bearer ${METRICS_TOKEN}`)).text();
  for (const secret of [METRICS_TOKEN, api.apiKey, "secret-token", "198.51.100.7"]) {
    assert.ok(!text.includes(secret), secret);
  }
});

test("the metrics and the status show a failing node and the node in use", async () => {
  let isDown = false;
  const down = await startGateway(on, {
    started: false,
    settings: { metricsToken: METRICS_TOKEN, rpcUrls: "http://a.test/secret-a,http://b.test/secret-b" },
    fetch: (url, init) =>
      isDown && url.startsWith("http://a.test") ? Promise.reject(new TypeError("refused")) : on.fetch(url, init),
  });
  await down.gateway.networkChecked;
  isDown = true;
  const hash = (n: number) => n.toString(16).padStart(64, "0");
  assert.equal((await down.request("GET", `/v1/devices/${hash(1)}`)).status, 404);
  const families = await down.scrape();
  assert.equal(value(families, "gateway_rpc_node_in_use", { node: "http://a.test" }), 0);
  assert.equal(value(families, "gateway_rpc_node_in_use", { node: "http://b.test" }), 1);
  assert.ok(value(families, "gateway_rpc_requests_total", { node: "http://a.test", outcome: "failed" })! > 0);
  const { body } = await down.request("GET", "/v1/status");
  assert.deepEqual(
    body.nodes.map(({ node, inUse }: Record<string, unknown>) => [node, inUse]),
    [["http://a.test", false], ["http://b.test", true]],
  );
  assert.ok(["doubted", "failing"].includes(body.nodes[0].condition), body.nodes[0].condition);
  assert.equal(body.nodes[1].condition, "well");
  assert.equal(body.nodes[0].problem, "could not be reached");
  assert.doesNotMatch(JSON.stringify(body), /secret-/);
  await down.stop();
});

test("the metrics count errors of the store and omit only the values that the store would supply", async () => {
  let fails = false;
  const broken = await startGateway(on, {
    started: false,
    settings: { metricsToken: METRICS_TOKEN },
    store: (store) => {
      let observer: StoreObserver | undefined;
      const bent = bentStore(store, {
        events: {
          async bounds() {
            if (!fails) return await store.events.bounds();
            observer?.called("events.bounds", 1, "unavailable");
            throw new StoreError("unavailable", "the disk is gone");
          },
        },
      });
      return Object.assign(bent, { observe: (wanted: StoreObserver) => void (observer = wanted) });
    },
  });
  assert.equal(value(await broken.scrape(), "gateway_deliveries_pending"), 0);
  fails = true;
  // The gateway counts pending deliveries again a moment later.
  let families = await broken.scrape();
  while (value(families, "gateway_deliveries_pending") !== undefined) families = await broken.scrape();
  assert.equal(value(families, "gateway_deliveries_pending"), undefined);
  assert.ok(value(families, "gateway_store_errors_total", { kind: "unavailable" })! >= 1);
  assert.equal(value(families, "gateway_metrics_incomplete_total"), 1);
  assert.ok(value(families, "gateway_ledger_sequence") !== undefined);
  await broken.stop();
});

test("a refused webhook beyond the key's limit of 100 does not count as a store error", async () => {
  const settings = { metricsToken: METRICS_TOKEN };
  const many = await startGateway(on, { started: false, settings, targets: { allowLoopbackHttp: true } });
  await many.gateway.turn(20_000);
  const create = () => many.request("POST", "/v1/webhooks", { body: { url: "http://127.0.0.1:9/hook" } });
  for (let n = 0; n < 100; n++) assert.equal((await create()).status, 201);
  for (let n = 0; n < 3; n++) assert.equal((await create()).status, 400);
  const { samples } = (await many.scrape()).get("gateway_store_errors_total")!;
  assert.deepEqual(samples.map(({ labels, value }) => [labels.kind, value]), [["unavailable", 0], ["full", 0]]);
  await many.stop();
});

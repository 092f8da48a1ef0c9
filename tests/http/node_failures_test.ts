// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { signed } from "../e2e/client.ts";
import { type GatewayUnderTest, networkOfFile, type RpcFetch, startGateway } from "./test_gateway.ts";

const on = networkOfFile();

const hash = "ab".repeat(32);

/** Starts a gateway whose node answers every call with `answer` after the start. */
async function withNode(answer: RpcFetch, run: (api: GatewayUnderTest) => Promise<void>): Promise<void> {
  let broken = false;
  const api = await startGateway(on, {
    started: false,
    wait: () => Promise.resolve(),
    fetch: (url, init) => broken ? answer(url, init) : on.fetch(url, init),
  });
  broken = true;
  await run(api);
  await api.stop();
}

const json = (body: unknown, status = 200) => () =>
  Promise.resolve(new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } }));

const NONSENSE: [string, RpcFetch][] = [
  ["refuses the connection", () => Promise.reject(new TypeError("connection refused"))],
  ["answers HTTP 500", json({ oops: true }, 500)],
  ["answers HTTP 503 with a page", () => Promise.resolve(new Response("<html>busy</html>", { status: 503 }))],
  ["answers a page instead of JSON", () => Promise.resolve(new Response("<html>hello</html>"))],
  ["answers broken JSON", () => Promise.resolve(new Response('{"jsonrpc":"2.0","id":1,"res'))],
  ["answers an empty body", () => Promise.resolve(new Response(""))],
  ["answers JSON of another kind", json([1, 2, 3])],
  ["answers a result of another shape", json({ jsonrpc: "2.0", id: 1, result: { entries: "none" } })],
  ["answers numbers beyond bounds", json({ jsonrpc: "2.0", id: 1, result: { entries: [], latestLedger: -5 } })],
  ["answers a JSON-RPC error", json({ jsonrpc: "2.0", id: 1, error: { code: -32603, message: "internal" } })],
  [
    "redirects",
    () => Promise.resolve(new Response(null, { status: 302, headers: { location: "http://elsewhere.test/" } })),
  ],
];

for (const [what, answer] of NONSENSE) {
  test(`every endpoint that calls the node answers 502 upstream_error while the node ${what}`, async () => {
    await withNode(answer, async (api) => {
      const { owner } = on.sandbox.accounts;
      const calls: [string, string, unknown?][] = [
        ["GET", `/v1/devices/${hash}`],
        ["GET", `/v1/devices/${hash}/policy`],
        ["GET", `/v1/wallets/${owner.address}/devices`],
        ["GET", `/v1/merchants/${owner.address}/pending`],
        ["POST", "/v1/payments/check", { deviceHash: hash, asset: on.sandbox.asset, amount: "1" }],
        ["POST", "/v1/transactions/prepare", {
          source: owner.address,
          operation: { kind: "revokeDevice", deviceHash: hash },
        }],
        ["GET", `/v1/transactions/${hash}`],
      ];
      for (const [method, path, body] of calls) {
        const got = await api.request(method, path, { body });
        assert.deepEqual(
          [got.status, got.body.error.code],
          [502, "upstream_error"],
          `${path}: ${JSON.stringify(got.body)}`,
        );
        assert.doesNotMatch(JSON.stringify(got.body), /secret-token|<html>/);
      }
      for (const path of ["/v1/health", "/v1/network", "/v1/events", "/v1/status"]) {
        assert.equal((await api.request("GET", path)).status, 200, `${path} does not ask the node`);
      }
    });
  });
}

test("the gateway answers 502 after the time-out when the node never answers", async () => {
  const started = Date.now();
  const never: RpcFetch = (_url, init) =>
    new Promise((_, reject) => init.signal?.addEventListener("abort", () => reject(init.signal?.reason)));
  await withNode(never, async (api) => {
    const got = await api.request("GET", `/v1/devices/${hash}`);
    assert.deepEqual([got.status, got.body.error.code], [502, "upstream_error"]);
    assert.ok(Date.now() - started < 60_000);
  });
});

test("a submit with unknown outcome answers 502 with the hash in message and Location, and GET returns the outcome later", async () => {
  let deaf = false;
  const api = await startGateway(on, {
    started: false,
    settings: { submitTimeoutMs: "1000" },
    fetch: (url, init) => {
      const { method } = JSON.parse(String(init.body));
      if (deaf && method !== "sendTransaction") return Promise.reject(new TypeError("gone"));
      return on.fetch(url, init);
    },
  });
  const { owner, agent } = on.sandbox.accounts;
  const prepared = await api.prepare(owner, { kind: "registerDevice", deviceHash: hash, agent: agent.address });
  assert.equal(prepared.status, 200, JSON.stringify(prepared.body));
  const xdr = signed(prepared.body.xdr, prepared.body.networkPassphrase, owner.secret);
  deaf = true;
  const lost = await api.submit(xdr);
  assert.deepEqual([lost.status, lost.body.error.code], [502, "upstream_error"], JSON.stringify(lost.body));
  assert.ok(lost.body.error.message.includes(prepared.body.hash));
  assert.equal(lost.headers.get("location"), `/v1/transactions/${prepared.body.hash}`);
  deaf = false;
  const found = await api.request("GET", lost.headers.get("location")!);
  assert.equal(found.body.status, "success");
  const again = await api.submit(xdr);
  assert.deepEqual(again.body, { hash: prepared.body.hash, ledger: found.body.ledger });
  await api.stop();
});

test("a node's error text goes to the log without its URLs, and callers get the gateway's own text", async () => {
  const words = "cannot reach ftp://a/TOKEN-1 nor wss://b/TOKEN-2?key=TOKEN-3, says the inner node";
  const error = json({ jsonrpc: "2.0", id: null, error: { code: -32602, message: words } });
  const simulation: RpcFetch = async (url, init) => {
    if (!String(init.body).includes("simulateTransaction")) return await on.fetch(url, init);
    const { id } = JSON.parse(String(init.body));
    return Response.json({
      jsonrpc: "2.0",
      id,
      result: { error: words, latestLedger: on.network.latestLedger().sequence },
    });
  };
  for (const [answer, name] of [[error, "-32602"], [simulation, "could not simulate"]] as const) {
    let broken = false;
    const api = await startGateway(on, {
      started: false,
      fetch: (url, init) => broken ? answer(url, init) : on.fetch(url, init),
    });
    await api.gateway.networkChecked;
    broken = true;
    const { owner, agent } = on.sandbox.accounts;
    const operation = { kind: "registerDevice", deviceHash: hash, agent: agent.address };
    const { status, body } = await api.prepare(owner, operation);
    assert.equal(status, 502);
    assert.match(body.error.message, new RegExp(name));
    assert.doesNotMatch(JSON.stringify(body), /TOKEN|inner/);
    assert.match(api.log(), /"requestId".*cannot reach \[url\] nor \[url\]/);
    assert.doesNotMatch(api.log(), /TOKEN/);
    await api.stop();
  }
});

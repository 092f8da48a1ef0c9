// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { signed } from "../e2e/client.ts";
import { gatewayOfFile } from "./test_gateway.ts";

const STARTED_AT = Date.now();
const { on, api } = gatewayOfFile({ started: false, now: () => STARTED_AT, settings: { defaultRate: "100000" } });

async function problem(method: string, path: string, options = {}): Promise<string> {
  const { status, body } = await api.request(method, path, options);
  assert.equal(status, 400, JSON.stringify(body));
  return body.error.message;
}

test("the gateway refuses a query of more than 32 parameters and states the limit", async () => {
  const query = (n: number) => Array.from({ length: n }, (_, at) => `p${at}=1`).join("&");
  assert.equal(await problem("GET", `/v1/events?${query(33)}`), "the query must have at most 32 parameters");
  assert.match(await problem("GET", `/v1/events?${query(32)}`), /^unknown query parameter p0, p1/);
  assert.equal(await problem("GET", `/v1/events?${query(10_000)}`), "the query must have at most 32 parameters");
  assert.equal(await problem("GET", `/v1/events?${"&".repeat(60_000)}`), "the query must have at most 32 parameters");
  const none = await problem("GET", `/v1/network?${query(10_000)}`);
  assert.match(none, /^unknown query parameter p0: this endpoint takes none$/);
  assert.match(await problem("GET", "/v1/events?__proto__=1"), /^unknown query parameter __proto__$/);
});

test("the health check ignores its query, and other endpoints accept an empty query", async () => {
  const { status, body } = await api.request("GET", `/v1/health?x=1&x=2&${"y&".repeat(10_000)}`, { key: null });
  assert.deepEqual([status, body], [200, { ok: true }]);
  assert.equal((await api.request("GET", "/v1/network?")).status, 200);
});

test("a webhook id with NUL or another invalid character gets invalid_request", async () => {
  for (const id of ["wh_%00", "wh_a%0Ab", "wh_", "x", "wh_..", "wh_%F0%9F%92%A5", `wh_${"a".repeat(41)}`]) {
    assert.equal(await problem("GET", `/v1/webhooks/${id}`), "id must be the id of a webhook (wh_…)");
  }
  assert.equal((await api.request("GET", "/v1/webhooks/wh_%61bc")).body.error.code, "not_found");
});

test("the log omits API keys, seeds and signing secrets in paths, and escapes control characters", async () => {
  const seed = "SAV76USXIJOBMEQXPANUOQM6F5LIOTLPDIDVRJBFFE2MDJXG24TAPUU7";
  const started = api.log().length;
  for (const path of [`/v1/wallets/${api.apiKey}/devices`, `/${api.apiKey.replace("_", "%5F")}`, `/v1/x/${seed}`]) {
    await api.request("GET", path, { key: null });
  }
  await api.request("GET", "/whsec_c2VjcmV0c2VjcmV0c2VjcmV0", { key: null });
  await api.request("GET", "/a%0A%7B%22level%22%3A%22error%22%7D%1B%5B2J%E2%80%AE%C2%9B", { key: null });
  const lines = api.log().slice(started);
  for (const secret of [api.apiKey.slice(11), seed, "c2VjcmV0"]) assert.ok(!lines.includes(secret), lines);
  assert.equal(lines.trimEnd().split("\n").length, 5);
  // deno-lint-ignore no-control-regex
  assert.doesNotMatch(lines.replaceAll("\n", ""), /[\x00-\x1f\x7f-\x9f\u202e]/);
  assert.equal(JSON.parse(lines.trimEnd().split("\n")[4]!).path, `/a\n{"level":"error"}\u001b[2J\u202e\u009b`);
});

test("answers outside the endpoints cost a valid key no token, and cost a wrong key's address one", async () => {
  const key = await api.newKey({ rate: 50 });
  const outside = [["GET", "/v1/nothing", 404], ["PUT", "/v1/network", 405], ["GET", "/openapi.json", 200]] as const;
  for (const [method, path, expected] of outside) {
    const { status, headers } = await api.request(method, path, { key });
    const limit = [headers.get("x-ratelimit-limit"), headers.get("x-ratelimit-remaining")];
    assert.deepEqual([status, ...limit], [expected, "50", "50"]);
    const none = await api.request(method, path, { key: null });
    assert.equal(none.headers.get("x-ratelimit-limit"), "100000");
  }
  const guess = { key: "service_sk_guess", from: "203.0.113.77" };
  assert.equal((await api.request("GET", "/v1/nothing", guess)).headers.get("x-ratelimit-remaining"), "99999");
  assert.equal((await api.request("GET", "/v1/nothing", guess)).headers.get("x-ratelimit-remaining"), "99998");
});

test("the gateway accepts X-API-Key beside an Authorization header of another scheme, but not beside another Bearer key", async () => {
  const ask = (headers: Record<string, string>) => api.request("GET", "/v1/network", { key: null, headers });
  assert.equal((await ask({ authorization: "Basic dXNlcjpwYXNz", "x-api-key": api.apiKey })).status, 200);
  assert.equal((await ask({ authorization: `Bearer ${api.apiKey}`, "x-api-key": api.apiKey })).status, 200);
  assert.equal((await ask({ authorization: "Bearer other", "x-api-key": api.apiKey })).status, 401);
  assert.equal((await ask({ authorization: "Bearer", "x-api-key": api.apiKey })).status, 401);
  assert.equal((await ask({ authorization: "Basic dXNlcjpwYXNz" })).status, 401);
});

test("an endpoint without a body refuses fields by name, and accepts an empty body", async () => {
  const path = "/v1/webhooks/wh_nobody/secret";
  assert.equal(await problem("POST", path, { body: { secret: "mine" } }), "unknown field secret");
  assert.match(await problem("POST", path, { body: "{" }), /^the body must be JSON/);
  for (const body of [undefined, {}, ""]) assert.equal((await api.request("POST", path, { body })).status, 404);
  assert.match(await problem("DELETE", "/v1/webhooks/wh_nobody", { body: { force: true } }), /^unknown field force$/);
});

test("a wrong method gets 405 with the path's method in Allow and in the message", async () => {
  const { status, headers, body } = await api.request("GET", "/v1/transactions/submit");
  assert.deepEqual([status, headers.get("allow"), body.error.message], [
    405,
    "POST",
    "the method of /v1/transactions/submit must be POST; got GET",
  ]);
});

test("a replay costs ten tokens, and Retry-After states when ten are available", async () => {
  const key = await api.newKey({ rate: 60 });
  const replay = () => api.request("POST", "/v1/webhooks/wh_nobody/replay", { key, body: { fromLedger: 1 } });
  for (let n = 1; n <= 6; n++) {
    const { status, headers } = await replay();
    assert.deepEqual([status, headers.get("x-ratelimit-remaining")], [404, String(60 - 10 * n)]);
  }
  const refused = await replay();
  assert.equal(refused.status, 429);
  assert.equal(refused.headers.get("retry-after"), "10");
  assert.match(refused.body.error.message, /this request costs 10 requests/);
});

test("the log shows key, client address and duration of a request, and kind, source and hash of a write", async () => {
  const started = api.log().length;
  const { owner, agent } = on.sandbox.accounts;
  const deviceHash = "de".repeat(32);
  const prepared = await api.prepare(owner, { kind: "registerDevice", deviceHash, agent: agent.address });
  const { networkPassphrase } = prepared.body;
  const submitted = await api.submit(signed(prepared.body.xdr, networkPassphrase, owner.secret));
  const again = signed(prepared.body.xdr, networkPassphrase, agent.secret);
  const refused = await api.submit(again);
  await api.request("GET", "/v1/devices/zz");
  await api.request("GET", "/v1/network", { key: null });
  const lines = api.log().slice(started).split("\n").filter((line) => line.includes("requestId")).map((line) =>
    JSON.parse(line)
  );
  const keyId = api.apiKey.split("_")[2];
  const [write, submit, refusal, malformed, stranger] = lines;
  assert.deepEqual([write.key, write.client, write.kind, write.source, write.hash], [
    keyId,
    "198.51.100.7",
    "registerDevice",
    owner.address,
    prepared.body.hash,
  ]);
  assert.ok(write.durationMs > 0);
  const what = { kind: "registerDevice", source: owner.address, hash: prepared.body.hash };
  assert.deepEqual(submitted.body, { hash: what.hash, ledger: submit.ledger });
  for (const line of [submit, refusal]) {
    assert.deepEqual({ kind: line.kind, source: line.source, hash: line.hash }, what);
  }
  assert.deepEqual([refusal.status, refusal.code], [refused.status, refused.body.error?.code]);
  assert.deepEqual([malformed.level, malformed.status, malformed.key, malformed.code], [
    "info",
    400,
    keyId,
    "invalid_request",
  ]);
  assert.deepEqual([stranger.level, stranger.status, stranger.key], ["info", 401, undefined]);
});

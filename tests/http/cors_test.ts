// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { readConfig } from "../../cli/read_config.ts";
import { networkOfFile, startGateway } from "./test_gateway.ts";

const on = networkOfFile();

const preflight = (origin: string) => ({
  key: null,
  headers: { origin, "access-control-request-method": "GET", "access-control-request-headers": "authorization" },
});

test("without CORS origins the gateway allows no page to call", async () => {
  const api = await startGateway(on, { started: false });
  const answer = await api.request("GET", "/v1/network", { headers: { origin: "https://app.example" } });
  assert.equal(answer.headers.get("access-control-allow-origin"), null);
  const refused = await api.request("OPTIONS", "/v1/network", preflight("https://app.example"));
  assert.equal(refused.headers.get("access-control-allow-origin"), null);
  await api.stop();
});

test("a listed origin may call, needs no key for its preflight, and may read the rate headers", async () => {
  const api = await startGateway(on, {
    started: false,
    settings: { corsOrigins: "https://app.example,https://b.example" },
  });
  const allowed = await api.request("OPTIONS", "/v1/network", preflight("https://b.example"));
  assert.equal(allowed.status, 204);
  assert.equal(allowed.headers.get("access-control-allow-origin"), "https://b.example");
  assert.match(allowed.headers.get("access-control-allow-headers")!, /authorization/i);
  for (const name of ["traceparent", "tracestate", "baggage", "sentry-trace"]) {
    assert.ok(allowed.headers.get("access-control-allow-headers")!.split(", ").includes(name), name);
  }
  const answer = await api.request("GET", "/v1/network", { headers: { origin: "https://app.example" } });
  assert.equal(answer.headers.get("access-control-allow-origin"), "https://app.example");
  for (const name of ["Retry-After", "Location", "X-Request-Id", "X-RateLimit-Remaining"]) {
    assert.ok(answer.headers.get("access-control-expose-headers")!.includes(name), name);
  }
  assert.match(answer.headers.get("vary")!, /origin/i);
  const error = await api.request("GET", "/v1/network", { key: null, headers: { origin: "https://app.example" } });
  assert.deepEqual([error.status, error.headers.get("access-control-allow-origin")], [401, "https://app.example"]);
  const stranger = await api.request("GET", "/v1/network", { headers: { origin: "https://evil.example" } });
  assert.equal(stranger.headers.get("access-control-allow-origin"), null);
  await api.stop();
});

test('the gateway never allows credentials, with "*" or a listed origin', async () => {
  for (const corsOrigins of ["*", "https://app.example"]) {
    const api = await startGateway(on, { started: false, settings: { corsOrigins } });
    const answer = await api.request("GET", "/v1/network", { headers: { origin: "https://app.example" } });
    assert.equal(answer.headers.get("access-control-allow-credentials"), null);
    assert.equal(answer.headers.get("access-control-allow-origin"), corsOrigins);
    await api.stop();
  }
});

test("the gateway answers a preflight of a known path with its methods, rate and request id, and refuses other OPTIONS requests", async () => {
  const api = await startGateway(on, { started: false, settings: { corsOrigins: "https://app.example" } });
  const good = await api.request("OPTIONS", "/v1/webhooks/wh_a", preflight("https://app.example"));
  assert.equal(good.status, 204);
  assert.equal(good.headers.get("access-control-allow-methods"), "GET, DELETE, HEAD");
  assert.equal(good.headers.get("access-control-max-age"), "600");
  for (const name of ["x-request-id", "x-ratelimit-limit", "x-ratelimit-remaining", "ratelimit", "ratelimit-policy"]) {
    assert.ok(good.headers.get(name), name);
  }
  const unknown = await api.request("OPTIONS", "/v1/nothing", preflight("https://app.example"));
  assert.deepEqual([unknown.status, unknown.headers.get("access-control-allow-origin")], [404, "https://app.example"]);
  const bare = await api.request("OPTIONS", "/v1/network", { key: null, headers: { origin: "https://app.example" } });
  assert.deepEqual([bare.status, bare.headers.get("allow")], [405, "GET, HEAD"]);
  const stranger = await api.request("OPTIONS", "/v1/network", preflight("https://evil.example"));
  assert.equal(stranger.headers.get("access-control-allow-origin"), null);
  const page = await api.request("OPTIONS", "/openapi.json", preflight("https://app.example"));
  assert.equal(page.status, 204);
  await api.stop();
});

test("the gateway refuses at start an origin that contains a wildcard", () => {
  for (const corsOrigins of ["https://*.example.com", "https://app.example,https://*.b.example", "*.example.com"]) {
    assert.throws(() => readConfig({}, { corsOrigins }), /cors-origins must be .*without wildcards/);
  }
  assert.deepEqual(readConfig({}, { corsOrigins: "*" }).corsOrigins, ["*"]);
});

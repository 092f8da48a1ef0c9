// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Examples, openApiDocument, operationsOf } from "../../lib/http/openapi.ts";
import examples from "../../lib/http/openapi_examples.json" with { type: "json" };
import { NOUNS } from "../../lib/http/routes/routes.ts";
import type { Scope } from "../../lib/store/store.ts";
import { VERSION } from "../../lib/version.ts";
import { gatewayOfFile } from "./test_gateway.ts";

const OPERATIONS = operationsOf(NOUNS);
/** `event_stream_test.ts` tests the endless answer. */
const GOES_ON = "/v1/events/stream";

const { on, api } = gatewayOfFile();

/** Every route with a valid path, so that only the key and its scope decide. */
function everyRoute(): { method: string; path: string; scopes: readonly Scope[]; cost: number }[] {
  const { address } = on.sandbox.accounts.owner;
  const values: Record<string, string> = {
    hash: "ab".repeat(32),
    address,
    id: "wh_nobody",
    attempt: "1",
    asset: on.sandbox.asset,
  };
  return OPERATIONS.map(({ method, path, spec: { scopes, cost = 1 } }) => ({
    method: method.toUpperCase(),
    path: path.replace(/:(\w+)/g, (_, name: string) => values[name]!),
    scopes,
    cost,
  }));
}

const withKey = () => everyRoute().filter(({ scopes }) => scopes.length > 0);

function assertCommonHeaders(headers: Headers, what: string): void {
  for (const name of ["x-ratelimit-limit", "x-ratelimit-remaining", "ratelimit", "ratelimit-policy", "x-request-id"]) {
    assert.ok(headers.get(name), `${what} lacks the header ${name}`);
  }
  assert.match(headers.get("x-ratelimit-remaining")!, /^\d+$/, what);
  assert.equal(headers.get("content-type"), "application/json", what);
  assert.equal(headers.get("cache-control"), "no-store", what);
}

test("every route except the health check requires a key and answers 401 with WWW-Authenticate", async () => {
  for (const { method, path, scopes } of everyRoute()) {
    const answer = await api.request(method, path, { key: null, from: "203.0.113.1" });
    assertCommonHeaders(answer.headers, `${method} ${path}`);
    if (scopes.length === 0) {
      assert.equal(answer.status, 200, path);
      continue;
    }
    assert.deepEqual([answer.status, answer.body.error.code], [401, "unauthorized"], `${method} ${path}`);
    assert.equal(answer.headers.get("www-authenticate"), "Bearer");
  }
});

test("every route accepts a key with only its scope, in Authorization and in X-API-Key", async () => {
  for (const { method, path, scopes } of withKey().filter(({ path }) => path !== GOES_ON)) {
    const key = await api.newKey({ scopes: [scopes[0]!] });
    const body = method === "POST" ? {} : undefined;
    for (const headers of [{ authorization: `bEaReR ${key}` }, { "x-api-key": key }] as Record<string, string>[]) {
      const answer = await api.request(method, path, { key: null, body, headers });
      assertCommonHeaders(answer.headers, `${method} ${path}`);
      assert.ok(![401, 403, 405, 429, 500, 502].includes(answer.status), `${method} ${path} answered ${answer.status}`);
    }
  }
});

test("every route with a key takes its cost from the key's rate", async () => {
  for (const { method, path, scopes, cost } of withKey().filter(({ path }) => path !== GOES_ON)) {
    const key = await api.newKey({ scopes: [scopes[0]!], rate: cost });
    const body = method === "POST" ? {} : undefined;
    const first = await api.request(method, path, { key, body });
    assert.equal(first.headers.get("x-ratelimit-limit"), String(cost));
    assert.equal(first.headers.get("x-ratelimit-remaining"), "0");
    const second = await api.request(method, path, { key, body });
    assert.deepEqual([second.status, second.body.error.code], [429, "rate_limited"], `${method} ${path}`);
    assert.equal(second.headers.get("retry-after"), "60");
    assertCommonHeaders(second.headers, `${method} ${path}`);
  }
});

test("every route answers another method with 405 and the allowed methods", async () => {
  const byPath = Map.groupBy(everyRoute(), ({ path }) => path);
  for (const [path, routes] of byPath) {
    const answer = await api.request("PUT", path);
    assertCommonHeaders(answer.headers, path);
    assert.deepEqual([answer.status, answer.body.error.code], [405, "invalid_request"], path);
    const allowed = answer.headers.get("allow")!.split(", ");
    for (const { method } of routes) assert.ok(allowed.includes(method), `${path} allows ${allowed}`);
  }
  const fixed = await api.request("GET", "/v1/transactions/submit");
  assert.deepEqual([fixed.status, fixed.headers.get("allow")], [405, "POST"], "a fixed step beats a name");
});

test("/openapi.json describes every route with its scope, errors and answer", async () => {
  const { status, body } = await api.request("GET", "/openapi.json", { key: null });
  assert.equal(status, 200);
  assert.match(body.openapi, /^3\.1\./);
  for (const { method, path, spec } of OPERATIONS) {
    const operation = body.paths[path.replace(/:(\w+)/g, "{$1}")][method];
    assert.equal(operation["x-scope"], spec.scopes.join(" or ") || undefined, path);
    assert.ok(
      operation.responses[String(spec.status ?? 200)].content[spec.mediaType ?? "application/json"].schema,
      path,
    );
    if (spec.scopes.length > 0) {
      for (const code of ["400", "401", "403", "429", "500"]) assert.ok(operation.responses[code], `${path} ${code}`);
    }
  }
  assert.deepEqual(
    body,
    JSON.parse(JSON.stringify(openApiDocument(NOUNS, VERSION, examples as Examples))),
    "nothing of the deployment is in it",
  );
});

test("OpenAPI describes 408 and 413 for requests with a body, and 409 with Retry-After for those with an Idempotency-Key", () => {
  const { paths, components } = JSON.parse(JSON.stringify(openApiDocument(NOUNS, VERSION, examples as Examples)));
  for (const { method, path, spec } of OPERATIONS) {
    const { responses } = paths[path.replace(/:(\w+)/g, "{$1}")][method];
    const described = ["408", "409", "413"].filter((status) => responses[status] !== undefined);
    const expected = [...(spec.body ? ["408", "413"] : []), ...(spec.idempotent ? ["409"] : [])].sort();
    assert.deepEqual(described, expected, `${method} ${path}`);
    for (const status of described) {
      const response = components.responses[responses[status].$ref.split("/").at(-1)];
      assert.match(response.description, /^`invalid_request`: \w/);
      const { schema, examples } = response.content["application/json"];
      assert.equal(schema.$ref, "#/components/schemas/Error");
      assert.equal(examples.invalid_request.value.error.code, "invalid_request");
      assert.equal(response.headers["Retry-After"] !== undefined, status === "409");
    }
  }
});

test("OpenAPI forbids an amount of zero and allows a cap of zero", () => {
  // deno-lint-ignore no-explicit-any
  const { schemas } = (openApiDocument(NOUNS, "test") as any).components;
  const takes = (schema: string, field: string, value: string) =>
    new RegExp(schemas[schema].properties[field].pattern).test(value);
  for (const schema of ["PaymentCheck", "AuthorizeOperation", "FundEscrowOperation", "DefundEscrowOperation"]) {
    assert.deepEqual([takes(schema, "amount", "0"), takes(schema, "amount", "1")], [false, true], schema);
  }
  assert.ok(takes("RegisterAgentOperation", "maxAmount", "0"));
});

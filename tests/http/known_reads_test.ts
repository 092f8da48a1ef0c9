// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { createRecentMap } from "../../lib/bounded_map.ts";
import { endpoint } from "../../lib/http/endpoint.ts";
import { type AppParts, type KnownRead, RequestContext } from "../../lib/http/request_context.ts";
import { networkOfFile, startGateway } from "./test_gateway.ts";

const on = networkOfFile();

test("the gateway checks key, scope, rate, method and query of a repeated read again", async () => {
  const { stop, newKey, request } = await startGateway(on, { started: false });
  const path = `/v1/merchants/${on.sandbox.accounts.merchant.address}/pending`;
  const reader = await newKey({ rate: 4 });
  for (const remaining of ["3", "2"]) {
    const answer = await request("GET", path, { key: reader });
    assert.deepEqual([answer.status, answer.body, answer.headers.get("x-ratelimit-remaining")], [
      200,
      { pending: "0", payments: [] },
      remaining,
    ]);
  }
  assert.equal((await request("GET", path, { key: null })).status, 401);
  assert.equal((await request("GET", path, { key: await newKey({ scopes: ["write"] }) })).status, 403);
  assert.equal((await request("GET", path, { key: await newKey({ disabled: true }) })).status, 401);
  assert.equal((await request("POST", path, { key: reader, body: {} })).status, 405);
  assert.match((await request("GET", `${path}?limit=1`)).body.error.message, /unknown query parameter limit/);
  assert.equal((await request("GET", path, { key: reader })).status, 200);
  assert.equal((await request("GET", path, { key: reader })).status, 200);
  assert.equal((await request("GET", path, { key: reader })).status, 429);
  await stop();
});

test("the gateway repeats the refusal of a wrong path, and gives each path its own answer", async () => {
  const { stop, request } = await startGateway(on, { started: false });
  for (let again = 0; again < 2; again++) {
    assert.match((await request("GET", "/v1/devices/zz")).body.error.message, /hash/);
    assert.equal((await request("GET", `/v1/devices/${"ab".repeat(32)}`)).body.error.code, "device_not_found");
    assert.equal((await request("GET", `/v1/devices/${"ab".repeat(32)}/policy`)).body.error.code, "agent_not_found");
    assert.equal((await request("GET", "/v1/nothing")).status, 404);
    assert.deepEqual((await request("GET", "/v1/health", { key: null })).body, { ok: true });
  }
  await stop();
});

test("the answer to a repeated read has its CORS headers", async () => {
  const { stop, request } = await startGateway(on, {
    started: false,
    settings: { corsOrigins: "https://app.example.com" },
  });
  for (let again = 0; again < 2; again++) {
    const { headers } = await request("GET", "/v1/network", { headers: { origin: "https://app.example.com" } });
    assert.equal(headers.get("access-control-allow-origin"), "https://app.example.com");
  }
  await stop();
});

test("the gateway does not cache a URL with a query or above 256 characters", async () => {
  const knownReads = createRecentMap<KnownRead>(10);
  const never = () => false;
  const parts = {
    ...{ knownReads, isStopping: never, isDraining: never, isStoreGone: never },
    addresses: { peek: () => ({}) },
    rateHeaders: { policy: () => ({}), state: () => ({}) },
    log: { writes: never },
    requestId: () => "req_1",
    otherMeter: { begin: () => 0, answered() {} },
  } as unknown as AppParts;
  const spec = { operationId: "read", scopes: [], summary: "", response: z.object({}), errors: [] };
  const read = endpoint({ ...spec, cached: true, ignoresQuery: true }, () => ({}));
  const ask = async (url: string) => {
    const context = new RequestContext(parts, new Request(url), { remoteAddress: "" });
    const response = await read({ env: context } as never, () => Promise.resolve());
    assert.equal((response as Response).status, 200);
    return knownReads.get(url) !== undefined;
  };
  assert.equal(await ask(`http://gateway.test/${"a".repeat(256 - 20)}`), true);
  assert.equal(await ask(`http://gateway.test/${"a".repeat(257 - 20)}`), false);
  assert.equal(await ask("http://gateway.test/read?of=1"), false);
});

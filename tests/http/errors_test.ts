// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { ERRORS } from "../../lib/errors.ts";
import { StoreError } from "../../lib/store/store.ts";
import type { Answer } from "../e2e/client.ts";
import { bentStore } from "../store/bent_store.ts";
import { gatewayOfFile, startGateway } from "./test_gateway.ts";

/** The codes of all answers below. The last test compares them with the registry. */
const seen = new Set<string>();

const { on, api } = gatewayOfFile();

const hash = "c0".repeat(32);

function assertError({ status, body, headers }: Answer, expectedStatus: number, code: string): void {
  assert.deepEqual([status, body?.error?.code], [expectedStatus, code], JSON.stringify(body));
  assert.equal(typeof body.error.message, "string");
  assert.equal(headers.get("content-type"), "application/json");
  assert.ok(headers.get("x-request-id") && headers.get("x-ratelimit-limit") && headers.get("x-ratelimit-remaining"));
  seen.add(code);
}

test("a malformed hash gets 400 invalid_request", async () => {
  const answer = await api.request("GET", "/v1/devices/xyz");
  assertError(answer, 400, "invalid_request");
  assert.match(answer.body.error.message, /^hash must be 64 hex digits; got "xyz"$/);
});

test("a missing, malformed, mistyped, unknown, disabled or expired key gets 401 unauthorized", async () => {
  const typo = api.apiKey.slice(0, -1) + (api.apiKey.endsWith("a") ? "b" : "a");
  const unknown = await api.newKey().then(async (key) => {
    await api.store.keys.delete(key.split("_")[2]!);
    return key;
  });
  const cases: [string | null, RegExp][] = [
    [null, /required/],
    ["hello", /malformed/],
    [typo, /checksum/],
    [unknown, /unknown/],
    [await api.newKey({ disabled: true }), /disabled/],
    [await api.newKey({ expiresAt: "2020-01-01T00:00:00.000Z" }), /expired/],
  ];
  for (const [key, message] of cases) {
    const answer = await api.request("GET", "/v1/network", { key });
    assertError(answer, 401, "unauthorized");
    assert.match(answer.body.error.message, message);
    assert.equal(answer.headers.get("www-authenticate"), "Bearer");
  }
  const other = await api.newKey();
  assertError(await api.request("GET", "/v1/network", { headers: { "x-api-key": other } }), 401, "unauthorized");
  const basic = await api.request("GET", "/v1/network", { key: null, headers: { authorization: "Basic abc" } });
  assertError(basic, 401, "unauthorized");
});

test("a key without the endpoint's scope gets 403 insufficient_scope", async () => {
  const key = await api.newKey({ scopes: ["webhooks"] });
  assertError(await api.request("GET", "/v1/network", { key }), 403, "insufficient_scope");
});

test("a missing device, agent or other object gets 404 with device_not_found, agent_not_found or not_found", async () => {
  assertError(await api.request("GET", `/v1/devices/${hash}`), 404, "device_not_found");
  assertError(await api.request("GET", `/v1/devices/${hash}/policy`), 404, "agent_not_found");
  assertError(await api.request("GET", `/v1/transactions/${hash}`), 404, "not_found");
  assertError(await api.request("GET", "/v1/nothing"), 404, "not_found");
  assertError(await api.request("GET", "/", { key: null }), 404, "not_found");
  const nobody = "GAAZI4TCR3TY5OJHCTJC2A4QSY6CJWJH5IAJTGKIN2ER7LBNVKOCCWN7";
  const unfunded = await api.prepare({ address: nobody, secret: "" }, { kind: "revokeDevice", deviceHash: hash });
  assertError(unfunded, 404, "not_found");
  assert.match(unfunded.body.error.message, /funded/);
});

test("a wrong method (405) and a body that is too long (413) get invalid_request", async () => {
  assertError(await api.request("DELETE", "/v1/health"), 405, "invalid_request");
  assertError(await api.submit("A".repeat(200_000)), 413, "invalid_request");
});

test("a contract's refusal gets 422 contract_refused with the contract's own error name", async () => {
  const answer = await api.prepare(on.sandbox.accounts.owner, { kind: "revokeDevice", deviceHash: hash });
  assertError(answer, 422, "contract_refused");
  assert.deepEqual(answer.body.error, {
    code: "contract_refused",
    message: "device_registry.revoke refused: device_registry error #2 (DeviceNotFound)",
    contractError: "DeviceNotFound",
    retry: "never",
  });
});

test("an exceeded rate gets 429 rate_limited, and one request succeeds after Retry-After", async () => {
  let time = 1_800_000_000_000;
  const limited = await startGateway(on, { now: () => time, started: false, settings: { defaultRate: "30" } });
  const key = await limited.newKey({ rate: 30 });
  for (let n = 0; n < 30; n++) assert.equal((await limited.request("GET", "/v1/network", { key })).status, 200);
  const refused = await limited.request("GET", "/v1/network", { key });
  assertError(refused, 429, "rate_limited");
  assert.equal(refused.headers.get("retry-after"), "2");
  time += 2_000;
  assert.equal((await limited.request("GET", "/v1/network", { key })).status, 200);
  assert.equal((await limited.request("GET", "/v1/network", { key })).status, 429);
  assert.equal((await limited.request("GET", "/v1/health", { key: null })).status, 200, "health is never refused");

  for (let n = 0; n < 30; n++) await limited.request("GET", "/v1/network", { key: "guess", from: "203.0.113.9" });
  assertError(await limited.request("GET", "/v1/network", { key: "guess", from: "203.0.113.9" }), 429, "rate_limited");
  assert.equal((await limited.request("GET", "/v1/network", { key: "guess", from: "203.0.113.10" })).status, 401);
  const valid = await limited.request("GET", "/v1/network", { from: "203.0.113.9" });
  assert.equal(valid.status, 200, "a valid key is never refused for its address");
  await limited.stop();
});

test("a fault of the gateway gets 500 internal_error without details; the log has them with the request id", async () => {
  const broken = await startGateway(on, {
    started: false,
    keys: () => ({
      get: () => Promise.reject(new TypeError("undefined is not a flux capacitor")),
      version: () => Promise.resolve(0),
      touch: () => Promise.resolve(),
      location: "nowhere",
      isEmpty: () => Promise.resolve(false),
    }),
  });
  const answer = await broken.request("GET", "/v1/network");
  assertError(answer, 500, "internal_error");
  assert.doesNotMatch(JSON.stringify(answer.body), /flux/);
  const line = broken.log().split("\n").find((text) => text.includes("flux capacitor"))!;
  assert.equal(JSON.parse(line).requestId, answer.headers.get("x-request-id"));
  assert.ok(!broken.log().includes(broken.apiKey), "the key is not in the log");
  await broken.stop();
});

test("a request while the node is down gets 502 upstream_error without the secrets of the node's URL", async () => {
  let down = false;
  const cut = await startGateway(on, {
    started: false,
    wait: () => Promise.resolve(),
    fetch: (url, init) => down ? Promise.reject(new TypeError(`connect ECONNREFUSED ${url}`)) : on.fetch(url, init),
  });
  down = true;
  const answer = await cut.request("GET", `/v1/devices/${hash}`);
  assertError(answer, 502, "upstream_error");
  assert.doesNotMatch(JSON.stringify(answer.body) + cut.log(), /secret-token/);
  await cut.stop();
});

test("a request gets 503 unavailable while the store fails, and after a stop", async () => {
  const full = new StoreError("full", "sqlite:/var/lib/gateway.db is full: make room on its disk");
  const unwritable = await startGateway(on, {
    started: false,
    store: (store) => bentStore(store, { events: { watcherState: () => Promise.reject(full) } }),
  }).catch((error) => error);
  assert.equal(unwritable, full, "a store that fails at start keeps the gateway from starting");

  let failing = false;
  const failed = await startGateway(on, {
    started: false,
    store: (store) =>
      bentStore(store, {
        events: { watcherState: () => failing ? Promise.reject(full) : store.events.watcherState() },
      }),
  });
  failing = true;
  const answer = await failed.request("GET", "/v1/events");
  assertError(answer, 503, "unavailable");
  assert.doesNotMatch(answer.body.error.message, /var\/lib/);
  assert.match(failed.log(), /var\/lib/);
  assert.equal(answer.headers.get("retry-after"), "1");
  failing = false;
  await failed.stop();
  const stopped = await failed.request("GET", "/v1/health", { key: null });
  assertError(stopped, 503, "unavailable");
  assert.equal(stopped.headers.get("retry-after"), "1");
});

test("a submit that the store cannot record gets 503 and is not sent; the same envelope succeeds later", async () => {
  let full = false;
  const sent: string[] = [];
  const api = await startGateway(on, {
    started: false,
    store: (store) =>
      bentStore(store, {
        submissions: {
          record: (note) =>
            full ? Promise.reject(new StoreError("full", "sqlite:/x is full")) : store.submissions.record(note),
        },
      }),
    fetch: (url, init) => {
      sent.push(JSON.parse(String(init.body)).method);
      return on.fetch(url, init);
    },
  });
  const { owner, agent } = on.sandbox.accounts;
  const xdr = await api.signedEnvelope(owner, { kind: "registerDevice", deviceHash: hash, agent: agent.address });
  full = true;
  assertError(await api.submit(xdr), 503, "unavailable");
  assert.ok(!sent.includes("sendTransaction"));
  full = false;
  assert.equal((await api.submit(xdr)).status, 200);
  await api.stop();
});

test("the tests above cover every code of the error registry", () => {
  assert.deepEqual([...seen].sort(), Object.keys(ERRORS).sort());
});

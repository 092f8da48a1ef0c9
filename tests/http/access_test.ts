// needs: once
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { operationsOf } from "../../lib/http/openapi.ts";
import { NOUNS } from "../../lib/http/routes/routes.ts";
import { SCOPES } from "../../lib/store/store.ts";
import { type Receiver, startReceiver } from "../e2e/receiver.ts";
import { gatewayOfFile } from "./test_gateway.ts";

/*
 * Shows which objects a key may see, route by route. A new endpoint needs a row in ROUTES, which says to whom its objects belong. Then it
 * is called with a key without its scope, and with a second key that has every scope.
 */
const OPERATIONS = operationsOf(NOUNS);

/**
 * `open`: without a key. `shared`: what it answers is on the chain or of the gateway, and the same for every key.
 * `own list`: lists the objects of the calling key alone. `own`: other keys get 404. `makes`: makes an object of the calling
 * key.
 */
type Belongs = "open" | "shared" | "own list" | "own" | "makes";

interface Route {
  belongs: Belongs;
  body?: () => unknown;
  query?: string[];
}

const ROUTES: Record<string, Route> = {
  getHealth: { belongs: "open" },
  getNetwork: { belongs: "shared" },
  getDevice: { belongs: "shared" },
  getDevicePolicy: { belongs: "shared" },
  listWalletDevices: { belongs: "shared" },
  getPendingPayments: { belongs: "shared" },
  checkPayment: { belongs: "shared", body: () => ({ deviceHash, asset: on.sandbox.asset, amount: "1" }) },
  listPayments: { belongs: "shared", query: ["", "?state=pending", "?order=asc"] },
  getPayment: { belongs: "shared" },
  getAsset: { belongs: "shared" },
  listEvents: { belongs: "shared" },
  streamEvents: { belongs: "shared" },
  getEvent: { belongs: "shared" },
  prepareTransaction: { belongs: "shared", body: () => ({ source: owner(), operation: registers("ef") }) },
  submitTransaction: { belongs: "shared", body: () => ({ xdr: envelope }) },
  listTransactions: { belongs: "own list" },
  getTransaction: { belongs: "shared" },
  createWebhook: { belongs: "makes", body: () => ({ url: `${receiver.url}/hook` }) },
  listWebhooks: { belongs: "own list" },
  getWebhook: { belongs: "own" },
  deleteWebhook: { belongs: "own" },
  rotateWebhookSecret: { belongs: "own" },
  testWebhook: { belongs: "own" },
  replayWebhook: { belongs: "own", body: () => ({ fromLedger: 1 }) },
  listWebhookDeliveries: { belongs: "own", query: ["", "?state=dead", "?state=rejected", "?state=retrying"] },
  getWebhookDelivery: { belongs: "own" },
  getReconciliation: { belongs: "shared" },
  getStatus: { belongs: "shared" },
};

const { on, api } = gatewayOfFile({ targets: { allowLoopbackHttp: true } });
const deviceHash = "ac".repeat(32);
const owner = () => on.sandbox.accounts.owner.address;
const registers = (two: string) => ({
  kind: "registerDevice",
  deviceHash: two.repeat(32),
  agent: on.sandbox.accounts.agent.address,
});

let receiver: Receiver;
/** A signed envelope that the first key prepared and submitted. */
let envelope: string;
/** Objects of the first key, by the name of the parameter. */
let own: Record<string, string>;
before(async () => {
  receiver = await startReceiver();
  envelope = await api.signedEnvelope(on.sandbox.accounts.owner, registers("ac"));
  const { body: { hash } } = await api.submit(envelope);
  const { body: { id } } = await api.request("POST", "/v1/webhooks", { body: { url: `${receiver.url}/hook` } });
  const { body: { attempt } } = await api.request("POST", `/v1/webhooks/${id}/test`);
  own = { hash, id, attempt: attempt.id, address: owner(), asset: on.sandbox.asset };
});
after(() => receiver.stop());

interface Called {
  status: number;
  code?: string;
  // deno-lint-ignore no-explicit-any
  body: any;
}

/** Calls an endpoint on the first key's objects. A stream has no end, so its body is not read. */
async function call(operationId: string, key: string | null, query = ""): Promise<Called> {
  const { method, path } = OPERATIONS.find(({ spec }) => spec.operationId === operationId)!;
  const values: Record<string, string> = path.includes("/devices/") ? { ...own, hash: deviceHash } : own;
  const filled = path.replace(/:(\w+)/g, (_, name: string) => values[name]!);
  const body = ROUTES[operationId]!.body?.();
  const request = new Request(`http://gateway.test${filled}${query}`, {
    method: method.toUpperCase(),
    headers: { ...(key !== null && { authorization: `Bearer ${key}` }), "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const response = await api.gateway.fetch(request, { remoteAddress: "198.51.100.7" });
  const isStream = response.headers.get("content-type")!.startsWith("text/event-stream");
  const answer = isStream ? void response.body!.cancel() : await response.json();
  return { status: response.status, code: answer?.error?.code, body: answer };
}

const routesOf = (...kinds: Belongs[]) =>
  Object.entries(ROUTES).filter(([, { belongs }]) => kinds.includes(belongs)).flatMap(([id, { query = [""] }]) =>
    query.map((text) => [id, text] as const)
  );

test("every endpoint has a row in ROUTES that states which keys may see its objects", () => {
  const ids = OPERATIONS.map(({ spec }) => spec.operationId);
  assert.deepEqual(Object.keys(ROUTES).sort(), ids.sort());
  const open = OPERATIONS.filter(({ spec }) => spec.scopes.length === 0).map(({ spec }) => spec.operationId);
  assert.deepEqual(routesOf("open").map(([id]) => id), open);
});

test("every endpoint refuses a key that has all scopes except the endpoint's", async () => {
  for (const { spec: { operationId, scopes } } of OPERATIONS.filter(({ spec }) => spec.scopes.length > 0)) {
    const key = await api.newKey({ scopes: SCOPES.filter((other) => !scopes.includes(other)) });
    const { status, code, body } = await call(operationId, key);
    assert.deepEqual([status, code], [403, "insufficient_scope"], operationId);
    assert.match(body.error.message, new RegExp(scopes.join(" or ")));
  }
});

test("a request for another key's object gets 404 and changes nothing", async () => {
  const seen = async () => [(await call("getWebhook", api.apiKey)).body, (await call("listWebhooks", api.apiKey)).body];
  const [beforehand, posts] = [await seen(), receiver.received.length];
  const second = await api.newKey();
  for (const [id, query] of routesOf("own")) {
    const { status, code } = await call(id, second, query);
    assert.deepEqual([status, code], [404, "not_found"], id + query);
  }
  assert.deepEqual([await seen(), receiver.received.length], [beforehand, posts]);
  // The same calls find it with the key that owns it; a rotation and the end of it come last.
  const last = ["rotateWebhookSecret", "deleteWebhook"];
  for (const [id, query] of routesOf("own").filter(([id]) => !last.includes(id))) {
    assert.ok((await call(id, api.apiKey, query)).status < 300, id + query);
  }
});

test("a list shows only the calling key's objects, and a new object belongs to the key that creates it", async () => {
  const second = await api.newKey();
  for (const [id] of routesOf("own list")) {
    const listed = async (key: string) => Object.values((await call(id, key)).body)[0] as unknown[];
    const [ofOwner, ofSecond] = [await listed(api.apiKey), await listed(second)];
    assert.ok(ofOwner.length > 0, id);
    assert.deepEqual(ofSecond, [], id);
  }
  for (const [id] of routesOf("makes")) {
    const { status, body } = await call(id, second);
    assert.deepEqual([status, body.id === own.id], [201, false], id);
  }
  assert.equal((await call("listWebhooks", second)).body.webhooks.length, 1);
});

test("a shared endpoint gives all keys with its scope the same status and code", async () => {
  const second = await api.newKey();
  for (const [id] of routesOf("shared", "open")) {
    const [first, other] = [await call(id, api.apiKey), await call(id, second)];
    assert.deepEqual([other.status, other.code], [first.status, first.code], id);
    assert.ok(![401, 403].includes(other.status), id);
  }
});

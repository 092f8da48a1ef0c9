// needs: once
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { afterEach, beforeEach, test } from "node:test";
import { systemClock } from "../../lib/clock.ts";
import { backlogOfAll } from "../../lib/webhooks/backlog.ts";
import { toTransactionIntent } from "../../lib/store/transaction_intent.ts";
import { type Receiver, startReceiver } from "../e2e/receiver.ts";
import { type GatewayUnderTest, networkOfFile, startGateway, type UnderTestOptions } from "../http/test_gateway.ts";

/** Longer than any turn here, and shorter than a lease, so that no lease expires during a turn. */
const LONG_MS = 20_000;

const on = networkOfFile();
let api: GatewayUnderTest;
let receiver: Receiver;
let status: number;
let aheadMs: number;

/** A gateway without loops, on its own store or on another gateway's store, as another isolate of one deployment. */
function isolate(store?: GatewayUnderTest["store"], fields: UnderTestOptions = {}): Promise<GatewayUnderTest> {
  return startGateway(on, {
    started: false,
    targets: { allowLoopbackHttp: true },
    now: () => Date.now() + aheadMs,
    ...fields,
    ...(store === undefined ? {} : { store: () => store }),
  });
}

beforeEach(async () => {
  status = 200;
  aheadMs = 0;
  receiver = await startReceiver(() => status);
  api = await isolate();
});
afterEach(async () => {
  await api.stop();
  await receiver.stop();
});

async function newWebhook(fields: object = {}) {
  const { status, body } = await api.request("POST", "/v1/webhooks", {
    body: { url: `${receiver.url}/hook`, ...fields },
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

let devices = 0;
/** Creates one event in one ledger; returns its transaction's hash. */
async function registerDevice(by = api): Promise<string> {
  devices += 1;
  return (await by.registerDevice()).hash;
}

const owed = async () => (await backlogOfAll(api.store, () => Promise.resolve(true))).pending;
const delivered = () => receiver.received.map(({ body }) => JSON.parse(body).event.txHash as string);

test("one turn delivers events from the network to the webhook in order, and ends when no work is left", async () => {
  await newWebhook();
  const hashes = [await registerDevice(), await registerDevice()];
  assert.deepEqual(delivered(), []);
  await api.gateway.turn(LONG_MS);
  assert.deepEqual(delivered(), hashes);
  assert.equal(await owed(), 0);
  await api.gateway.turn(LONG_MS);
  assert.equal(receiver.received.length, 2, "the second turn had nothing to do");
  assert.doesNotMatch(api.log(), /"level":"(warn|error)"/);
});

test("a turn leaves a failed delivery for a later turn, and releases its lease", async () => {
  const { id } = await newWebhook();
  await registerDevice();
  status = 503;
  const beganAtMs = Date.now();
  await api.gateway.turn(2_000);
  const endedAtMs = Date.now();
  assert.equal(receiver.received.length, 1);
  const dueAtMs = (await api.store.deliveries.consumer(id))!.progress.nextDueAtMs!;
  assert.ok(dueAtMs > beganAtMs + 2_000 && dueAtMs < endedAtMs + 6_000, `due in ${dueAtMs - beganAtMs} ms`);
  status = 200;
  aheadMs = 10_000;
  await api.gateway.turn(LONG_MS);
  assert.equal(receiver.received.length, 2);
  assert.equal(await owed(), 0);
});

test("two isolates with simultaneous turns lose no event, store each event once, and both turns end", async () => {
  await newWebhook();
  const other = await isolate(api.store);
  try {
    for (let round = 0; round < 3; round++) {
      const before = new Set(delivered());
      const hashes = [await registerDevice(), await registerDevice(), await registerDevice()];
      await Promise.all([api.gateway.turn(LONG_MS), other.gateway.turn(LONG_MS)]);
      // One turn may end while the other turn still waits for its last poll of the network.
      await api.gateway.turn(LONG_MS);
      assert.deepEqual(new Set(delivered()), new Set([...before, ...hashes]));
    }
    assert.equal(await owed(), 0);
    assert.equal((await api.store.events.bounds()).last, devices, "each event is held once");
  } finally {
    await other.gateway.stop();
  }
});

test("a turn ends after its time although the wall clock is set back an hour", async () => {
  let answer = () => {};
  const slow = await startReceiver(() => {
    aheadMs = -3_600_000;
    return new Promise((resolve) => answer = () => resolve(200));
  });
  const other = await isolate(api.store, { monotonicMs: systemClock.monotonicMs });
  try {
    await newWebhook({ url: `${slow.url}/hook` });
    await registerDevice(other);
    const beganAt = performance.now();
    await other.gateway.turn(1_500);
    const tookMs = performance.now() - beganAt;
    assert.equal(slow.received.length, 1);
    assert.ok(tookMs < 4_500, `it took ${tookMs} ms`);
  } finally {
    answer();
    await other.gateway.stop();
    await slow.stop();
  }
});

test("a turn stores a cursor past events that no webhook matches, so that the next isolate does not read them again", async () => {
  const { id } = await newWebhook({ types: ["payment.claimed"] });
  await registerDevice();
  await api.gateway.turn(LONG_MS);
  const { cursor } = (await api.store.deliveries.consumer(id))!.progress;
  assert.equal(cursor, (await api.store.events.bounds()).last);
  assert.deepEqual(delivered(), []);
});

test("a webhook created while no gateway polls the node gets no event from before its creation", async () => {
  await registerDevice();
  const other = await isolate();
  try {
    // The isolate that creates the webhook does not know this event's ledger.
    await registerDevice(other);
    aheadMs = 60_000;
    await newWebhook();
    const later = await registerDevice(other);
    await api.gateway.turn(LONG_MS);
    assert.deepEqual(delivered(), [later]);
  } finally {
    await other.stop();
  }
});

test("the first prepared transaction on a new store gets its sinceLedger from the account read", async () => {
  const { owner, agent } = on.sandbox.accounts;
  const deviceHash = createHash("sha256").update("first").digest("hex");
  const { status } = await api.request("POST", "/v1/transactions/prepare", {
    body: { source: owner.address, operation: { kind: "registerDevice", deviceHash, agent: agent.address } },
    headers: { "idempotency-key": "first" },
  });
  assert.equal(status, 200);
  const [key] = await api.store.keys.list({ limit: 1 });
  const kept = await api.store.intents.get({ keyId: key!.id, kind: "transaction", key: "first" });
  const { envelopes: [made] } = toTransactionIntent(kept!);
  const { sinceLedger } = made!;
  assert.ok(sinceLedger! > 0 && sinceLedger! <= on.network.latestLedger().sequence, `since ledger ${sinceLedger}`);
});

test("an isolate knows the asset of a card that it has just funded, without waiting for the next turn", async () => {
  const { owner, agent } = on.sandbox.accounts;
  const { asset } = on.sandbox;
  const deviceHash = createHash("sha256").update("funded").digest("hex");
  const write = (operation: object) => api.write(owner, { deviceHash, ...operation });
  await write({ kind: "registerDevice", agent: agent.address });
  await write({ kind: "fundEscrow", asset, amount: "5" });
  await write({ kind: "registerAgent", agent: agent.address, asset, maxAmount: "5" });
  await write({ kind: "defundEscrow", asset, amount: "5" });
});

// needs: once
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { afterEach, beforeEach, test } from "node:test";
import { systemClock } from "../../lib/clock.ts";
import { backlogOfAll } from "../../lib/webhooks/backlog.ts";
import { toTransactionIntent } from "../../lib/store/transaction_intent.ts";
import { type Receiver, startReceiver } from "../e2e/receiver.ts";
import { type GatewayUnderTest, networkOfFile, startGateway, type UnderTestOptions } from "../http/test_gateway.ts";

/** No turn here takes so long; shorter than a lease, so that none looks free only because it would have run out by then. */
const LONG_MS = 20_000;

const on = networkOfFile();
let api: GatewayUnderTest;
let receiver: Receiver;
let status: number;
let aheadMs: number;

/** A gateway without loops, on a store of its own or on another's: another isolate of the same deployment. */
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
/** One event in one ledger; answers its transaction's hash. */
async function registerDevice(by = api): Promise<string> {
  devices += 1;
  return (await by.registerDevice()).hash;
}

const owed = async () => (await backlogOfAll(api.store, () => Promise.resolve(true))).pending;
const heard = () => receiver.received.map(({ body }) => JSON.parse(body).event.txHash as string);

test("one turn brings events from the network to the webhook, in order, and ends when nothing is left", async () => {
  await newWebhook();
  const hashes = [await registerDevice(), await registerDevice()];
  assert.deepEqual(heard(), []);
  await api.gateway.turn(LONG_MS);
  assert.deepEqual(heard(), hashes);
  assert.equal(await owed(), 0);
  await api.gateway.turn(LONG_MS);
  assert.equal(receiver.received.length, 2, "the second turn had nothing to do");
  assert.doesNotMatch(api.log(), /"level":"(warn|error)"/);
});

test("what fails is left for a later turn, its lease given back", async () => {
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

test("turns of two isolates at the same time lose nothing and end", async () => {
  await newWebhook();
  const other = await isolate(api.store);
  try {
    for (let round = 0; round < 3; round++) {
      const before = new Set(heard());
      const hashes = [await registerDevice(), await registerDevice(), await registerDevice()];
      await Promise.all([api.gateway.turn(LONG_MS), other.gateway.turn(LONG_MS)]);
      // One of them may have ended while the other still had its last look at the network before it.
      await api.gateway.turn(LONG_MS);
      assert.deepEqual(new Set(heard()), new Set([...before, ...hashes]));
    }
    assert.equal(await owed(), 0);
    assert.equal((await api.store.events.bounds()).last, devices, "each event is held once");
  } finally {
    await other.gateway.stop();
  }
});

test("a turn during which the clock is set back is over when its time is", async () => {
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

test("what nobody hears is passed for good: the next isolate does not look through it again", async () => {
  const { id } = await newWebhook({ types: ["payment.claimed"] });
  await registerDevice();
  await api.gateway.turn(LONG_MS);
  const { cursor } = (await api.store.deliveries.consumer(id))!.progress;
  assert.equal(cursor, (await api.store.events.bounds()).last);
  assert.deepEqual(heard(), []);
});

test("a webhook made where nobody polls the node hears nothing from before its creation", async () => {
  await registerDevice();
  const other = await isolate();
  try {
    // The isolate that makes the webhook has not heard of this one's ledger.
    await registerDevice(other);
    aheadMs = 60_000;
    await newWebhook();
    const later = await registerDevice(other);
    await api.gateway.turn(LONG_MS);
    assert.deepEqual(heard(), [later]);
  } finally {
    await other.stop();
  }
});

test("the first payment that is prepared on a store is judged by the ledger that its account was read of", async () => {
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

test("what an isolate has just funded it knows the asset of: nobody waits for the next turn", async () => {
  const { owner, agent } = on.sandbox.accounts;
  const { asset } = on.sandbox;
  const deviceHash = createHash("sha256").update("funded").digest("hex");
  const write = (operation: object) => api.write(owner, { deviceHash, ...operation });
  await write({ kind: "registerDevice", agent: agent.address });
  await write({ kind: "fundEscrow", asset, amount: "5" });
  await write({ kind: "registerAgent", agent: agent.address, asset, maxAmount: "5" });
  await write({ kind: "defundEscrow", asset, amount: "5" });
});

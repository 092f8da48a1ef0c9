// needs: neutral
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { StoreError } from "../../lib/store/store.ts";
import { until } from "../until.ts";
import {
  type GatewayUnderTest,
  METRICS_TOKEN,
  startGateway,
  startTestNetwork,
  type TestNetwork,
} from "./test_gateway.ts";

let on: TestNetwork;
let api: GatewayUnderTest;
let aheadMs = 0;
let nodeIsDown = false;
let diskIsFull = false;
let calls = 0;

before(async () => {
  on = await startTestNetwork();
  api = await startGateway(on, {
    now: () => Date.now() + aheadMs,
    fetch(url, init) {
      calls += 1;
      return nodeIsDown ? Promise.reject(new TypeError("connection refused")) : on.fetch(url, init);
    },
    settings: { metricsToken: METRICS_TOKEN },
    store: (store) =>
      Object.create(store, {
        events: {
          value: Object.create(store.events, {
            append: {
              value: (step: never) =>
                diskIsFull
                  ? Promise.reject(new StoreError("full", "database or disk is full"))
                  : store.events.append(step),
            },
          }),
        },
      }),
  });
});
after(async () => {
  await api.stop();
  await on.network.stop();
});

const status = async () => (await api.request("GET", "/v1/status")).body;
const isFollowing = async () => (await status()).history.unknownSince === null;

/** The network's time, Unix seconds. */
async function networkSeconds(): Promise<number> {
  const { closedAt, lagSeconds } = (await status()).ledger;
  return Date.parse(closedAt) / 1_000 + lagSeconds;
}
function assertNear(unknownSince: string, seconds: number): void {
  const off = Date.parse(unknownSince) / 1_000 - seconds;
  assert.ok(off > -5 && off < 60, `${unknownSince} is off by ${off} s`);
}
/** Until the watcher has polled again. */
async function polled(): Promise<void> {
  const before = calls;
  await until(() => calls > before + 1);
}

beforeEach(async () => {
  [nodeIsDown, diskIsFull] = [false, false];
  await until(isFollowing);
  await polled();
});

test("while the store refuses events, the status shows since when events are unknown, and why", async () => {
  const stoodAt = await networkSeconds();
  diskIsFull = true;
  await api.registerDevice();
  aheadMs += 3_600_000;
  const { history, troubles } = await until(async () => {
    const found = await status();
    return /disk is full$/.test(found.troubles[0]) && found;
  });
  assertNear(history.unknownSince, stoodAt);
  assert.deepEqual(troubles, [`events since ${history.unknownSince} are unknown: database or disk is full`]);
});

test("the status reports no trouble when the network closes no ledger for five minutes", async () => {
  for (let step = 0; step < 3; step++) {
    aheadMs += 100_000;
    await polled();
  }
  const { history, troubles } = await status();
  assert.deepEqual([history.unknownSince, troubles], [null, []]);
});

test("while no node answers, the status shows since when events are unknown, and why", async () => {
  const stoodAt = await networkSeconds();
  nodeIsDown = true;
  await until(async () => (await status()).nodes[0].condition !== "well");
  aheadMs += 3_600_000;
  const { history, troubles } = await until(async () => {
    const found = await status();
    return found.troubles[0]?.includes("the connection was refused") && found;
  });
  assertNear(history.unknownSince, stoodAt);
  assert.equal(troubles.length, 1);
  assert.match(
    troubles[0],
    new RegExp(`^events since ${history.unknownSince} are unknown: the RPC node .* the connection was refused`),
  );
  assert.equal(await api.figure("gateway_troubles"), 0, "the metric counts the store's file and disk");
  nodeIsDown = false;
  await until(isFollowing);
  assert.deepEqual((await status()).troubles, []);
});

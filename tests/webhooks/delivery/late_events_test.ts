import assert from "node:assert/strict";
import { test } from "node:test";
import type { Decode } from "../../../lib/events/page.ts";
import { endOfLedger } from "../../../lib/events/position.ts";
import { createHistory } from "../../../lib/events/history.ts";
import { openStore } from "../../../lib/store/open.ts";
import type { Store } from "../../../lib/store/store.ts";
import type { Delivery } from "../../../lib/store/webhook_store.ts";
import { createFanOut } from "../../../lib/webhooks/delivery/fan_out.ts";
import { createSubscriptionSet } from "../../../lib/webhooks/delivery/subscription_set.ts";
import { createFixture } from "../../events/parts.ts";
import { CONTRACT, createSimulatedNode, decodeSimulated } from "../../events/simulated_node.ts";
import { commitEvents, eventAt, insert, pendingOf, START_MS, subscriptionOf } from "../parts.ts";

const OTHER_CONTRACT = "CB4DPMGOA374JIB2ZVD4AHW5GJKQUYNOFGRYNOJ75EFH2KCJSMHOWIRA";
const signal = new AbortController().signal;

/** A subscription that hears all from ledger 1 002 on, a fan-out, and an endpoint that takes everything at once. */
async function createHearing() {
  const store = await openStore("memory:");
  const start = () =>
    createFanOut({
      store,
      subscriptions: createSubscriptionSet(store),
      endOfLedger,
      now: () => START_MS,
      onDeliveries: () => {},
    });
  let fanOut = start();
  const heard: string[] = [];
  await insert(store, subscriptionOf("wh_1", { startPosition: endOfLedger(0, 1_001) }));
  return {
    store,
    heard,
    /** Fan-out and courier go on until nothing is owed. */
    async deliver() {
      while (await fanOut.step(signal));
      heard.push(...await deliverAll(store));
    },
    /** Another fan-out begins where the store says. */
    restart: () => fanOut = start(),
  };
}

async function deliverAll(store: Store): Promise<string[]> {
  const ledgers: string[] = [];
  const [lease] = await store.leaseSubscriptions({ nowMs: START_MS, leaseMs: 1_000, limit: 1 });
  if (lease === undefined) return [];
  const due = await store.dueDeliveries({ subscriptionId: "wh_1", nowMs: START_MS, limit: 200 });
  for (const { delivery, event } of due) {
    await store.settle([{ lease, deliveryId: delivery.id, attempt: delivered(delivery, event.id) }]);
    ledgers.push(`${event.ledger}${event.contractId === CONTRACT ? "" : " other"}`);
  }
  await store.releaseLease(lease);
  return ledgers;
}

function delivered({ id, subscriptionId }: Delivery, eventId: string) {
  return {
    id: `${id}-attempt`,
    subscriptionId,
    deliveryId: id,
    eventId,
    eventType: "t",
    number: 1,
    atMs: START_MS,
    durationMs: 1,
    outcome: "delivered" as const,
    statusCode: 200,
    error: null,
    responseBody: null,
    nextAttemptAtMs: null,
  };
}

for (
  const [restarts, pieces] of [[false, {}], [true, {}], [false, { sliceEvents: 1 }], [true, { pageEvents: 2 }]] as const
) {
  const by = restarts ? "a gateway that starts anew" : "the one that runs";
  const when = `by ${by}, read with ${JSON.stringify(pieces)}`;
  test(`events of a contract that is watched from now on are delivered once each, ${when}`, async () => {
    const { store, heard, deliver, restart } = await createHearing();
    const node = createSimulatedNode();
    node.close({}, { contractId: OTHER_CONTRACT });
    for (let ledger = 0; ledger < 3; ledger++) node.close({}, { contractId: OTHER_CONTRACT });
    const before = await createFixture(node, { store });
    await before.watcher.turn();
    await deliver();
    // What follows is looked through and of nobody's interest: it is not written down how far fan-out has come.
    node.close({ contractId: OTHER_CONTRACT });
    node.closeEmpty(2);
    await before.watcher.turn();
    await deliver();
    assert.deepEqual(heard, ["1002", "1003", "1004"]);

    const watcher = (await createFixture(node, { store, contractIds: [OTHER_CONTRACT, CONTRACT], ...pieces }))
      .watcher;
    if (restarts) restart();
    await watcher.turn();
    await deliver();
    node.close({});
    await watcher.turn();
    await deliver();
    assert.deepEqual(heard.slice(3), ["1002 other", "1003 other", "1004 other", "1005 other", "1008"]);
    restart();
    await deliver();
    assert.equal(heard.length, 8);
  });

  test(`events that can be decoded only after an upgrade are delivered once each, ${when}`, async () => {
    const { store, heard, deliver, restart } = await createHearing();
    const node = createSimulatedNode();
    for (let ledger = 0; ledger < 6; ledger++) node.close({});
    let count = 0;
    // Only the second and the last can be decoded.
    const decodeSome: Decode = (event) => [1, 4].includes(count++) ? decodeSimulated(event) : undefined;
    const before = await createFixture(node, { store, decode: decodeSome });
    await before.watcher.turn();
    await deliver();
    assert.deepEqual(heard, ["1002", "1005"]);

    const upgraded = await createFixture(node, { store });
    if (restarts) restart();
    await upgraded.watcher.turn();
    await deliver();
    assert.deepEqual(heard.slice(2).sort(), ["1003", "1004", "1006"]);
    restart();
    await deliver();
    assert.equal(heard.length, 5);
    assert.equal((await createHistory({ store, tip: upgraded.tip }).page({ limit: 9 })).events.length, 6);
  });
}

test("a late event with 450 subscribers is owed to each once, in bounded commits, wherever it is cut off", async () => {
  const store = await openStore("memory:");
  const ids = Array.from({ length: 450 }, (_, n) => `wh_${String(n).padStart(3, "0")}`);
  await insert(store, ...ids.map((id) => subscriptionOf(id)));
  const sizes: number[] = [];
  let commits = 0;
  const cutOff: Store = Object.create(store, {
    commitLateEvents: {
      async value(step: Parameters<Store["commitLateEvents"]>[0]) {
        sizes.push(step.deliveries.length);
        if (++commits === 2) throw new Error("cut off before");
        const done = await store.commitLateEvents(step);
        if (commits === 3) throw new Error("cut off after");
        return done;
      },
    },
  });
  const fanOutOn = (on: Store) =>
    createFanOut({
      store: on,
      subscriptions: createSubscriptionSet(on),
      endOfLedger,
      now: () => START_MS,
      onDeliveries: () => {},
    });
  await commitEvents(store, [eventAt(103)], 103);
  while (await fanOutOn(store).step(signal));
  await commitEvents(store, [eventAt(101), eventAt(102, 1, { type: "escrow.swept" })], 103);
  for (let failures = 0; failures < 2; failures++) {
    const fanOut = fanOutOn(cutOff);
    await assert.rejects(async () => {
      while (await fanOut.step(signal));
    }, /cut off/);
  }
  while (await fanOutOn(cutOff).step(signal));
  assert.ok(Math.max(...sizes) === 200 && commits === 6, `${sizes}`);
  assert.equal((await store.backlog()).pending, 3 * 450);
  for (const id of [ids[0]!, ids[199]!, ids[200]!, ids[449]!]) assert.equal((await pendingOf(store, id)).length, 3);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { endOfLedger } from "../../../lib/events/position.ts";
import type { Store } from "../../../lib/store/store.ts";
import { createFanOut } from "../../../lib/webhooks/delivery/fan_out.ts";
import { createSubscriptionSet } from "../../../lib/webhooks/delivery/subscription_set.ts";
import {
  commitEvents,
  eventAt,
  failingStore,
  insert,
  memoryStore,
  pendingOf,
  START_MS,
  subscriptionOf,
} from "../parts.ts";

const signal = new AbortController().signal;

function fanOutOn(store: Store, now = () => START_MS) {
  let told = 0;
  const fanOut = createFanOut({
    store,
    subscriptions: createSubscriptionSet(store),
    endOfLedger,
    now,
    onDeliveries: () => told++,
  });
  return {
    step: () => fanOut.step(signal),
    told: () => told,
    async all() {
      while (await fanOut.step(signal));
    },
  };
}

test("an event becomes a delivery to every subscription that hears it, and to no other", async () => {
  const store = await memoryStore();
  await insert(
    store,
    subscriptionOf("wh_all"),
    subscriptionOf("wh_type", { types: ["escrow.funded"] }),
    subscriptionOf("wh_other_type", { types: ["escrow.swept"] }),
    subscriptionOf("wh_merchant", { merchant: "GA" }),
  );
  await commitEvents(store, [eventAt(101)], 101);
  const fanOut = fanOutOn(store);
  assert.equal(await fanOut.step(), false);
  assert.equal(fanOut.told(), 1);
  for (const id of ["wh_all", "wh_type"]) {
    assert.deepEqual(await pendingOf(store, id), [{
      id: eventAt(101).position,
      subscriptionId: id,
      position: eventAt(101).position,
      attempts: 0,
      dueAtMs: START_MS,
      createdAtMs: START_MS,
    }]);
  }
  assert.equal((await store.backlog()).pending, 2);
});

test("a step that finds nothing new owes nothing again", async () => {
  const store = await memoryStore();
  await insert(store, subscriptionOf("wh_1"));
  await commitEvents(store, [eventAt(101), eventAt(102)], 102);
  await fanOutOn(store).all();
  const [lease] = await store.leaseSubscriptions({ nowMs: START_MS, leaseMs: 1_000, limit: 1 });
  const [first, second] = await pendingOf(store, "wh_1");
  const attempt = {
    subscriptionId: "wh_1",
    eventId: "e",
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
  await store.settle([
    { lease: lease!, deliveryId: first!.id, attempt: { ...attempt, id: "a1", deliveryId: first!.id } },
    { lease: lease!, deliveryId: second!.id, attempt: { ...attempt, id: "a2", deliveryId: second!.id } },
  ]);
  await fanOutOn(store).all();
  assert.equal((await store.backlog()).pending, 0, "also not by one that starts anew");
});

test("only ledgers that were scanned to their end are handed on", async () => {
  const store = await memoryStore();
  await insert(store, subscriptionOf("wh_1"));
  await commitEvents(store, [eventAt(101), eventAt(102, 1)], 101);
  const fanOut = fanOutOn(store);
  await fanOut.all();
  assert.deepEqual((await pendingOf(store, "wh_1")).map(({ position }) => position), [eventAt(101).position]);
  await commitEvents(store, [eventAt(102, 2)], 102);
  await fanOut.all();
  assert.deepEqual(
    (await pendingOf(store, "wh_1")).map(({ position }) => position),
    [eventAt(101), eventAt(102, 1), eventAt(102, 2)].map(({ position }) => position),
  );
});

test("a subscription hears what follows its start, also when fan-out was past it with nobody to hear", async () => {
  const store = await memoryStore();
  await commitEvents(store, [eventAt(101), eventAt(102)], 102);
  const fanOut = fanOutOn(store);
  await fanOut.all();
  assert.equal(await store.fanOutCursor(), undefined, "with nobody to hear, nothing is written");
  await insert(store, subscriptionOf("wh_1", { startPosition: endOfLedger(0, 102) }));
  await commitEvents(store, [eventAt(103)], 103);
  await fanOut.all();
  assert.deepEqual((await pendingOf(store, "wh_1")).map(({ position }) => position), [eventAt(103).position]);
});

test("a gateway with a long history and a new subscription looks only at what the subscription can hear", async () => {
  const store = await memoryStore();
  await commitEvents(store, Array.from({ length: 3_000 }, (_, n) => eventAt(101 + n)), 3_100);
  await insert(store, subscriptionOf("wh_1", { startPosition: endOfLedger(0, 3_098) }));
  let read = 0;
  const counting: Store = Object.create(store, {
    readEvents: {
      value: async (query: Parameters<Store["readEvents"]>[0]) => {
        const events = await store.readEvents(query);
        read += events.length;
        return events;
      },
    },
  });
  await fanOutOn(counting).all();
  assert.equal(read, 2);
  assert.equal((await store.backlog()).pending, 2);
});

test("one event with 5 000 subscribers is owed to each once, in bounded commits, wherever it is cut off", async () => {
  const store = await memoryStore();
  const ids = Array.from({ length: 5_000 }, (_, n) => `wh_${String(n).padStart(5, "0")}`);
  await insert(store, ...ids.map((id) => subscriptionOf(id)));
  await commitEvents(store, [eventAt(101), eventAt(102)], 102);
  let commits = 0;
  const sizes: number[] = [];
  const cutOff: Store = Object.create(store, {
    commitFanOut: {
      value: (step: Parameters<Store["commitFanOut"]>[0]) => {
        sizes.push(step.deliveries.length);
        // Every fourth commit fails, half of them after it was written.
        commits++;
        if (commits % 8 === 4) return Promise.reject(new Error("cut off before"));
        const done = store.commitFanOut(step);
        return commits % 8 === 0 ? done.then(() => Promise.reject(new Error("cut off after"))) : done;
      },
    },
  });
  let failures = 0;
  for (let isDone = false; !isDone;) {
    // A new one each time, as after a crash.
    isDone = await fanOutOn(cutOff).all().then(() => true, () => (failures++, false));
  }
  assert.ok(failures > 10 && Math.max(...sizes) <= 200);
  assert.equal((await store.backlog()).pending, 10_000);
  for (const id of [ids[0]!, ids[199]!, ids[200]!, ids[4_999]!]) assert.equal((await pendingOf(store, id)).length, 2);
  assert.equal((await store.fanOutCursor())?.position, eventAt(102).position);
});

test("1 000 events with ten subscribers are owed in the ledger's order, never due before an earlier one", async () => {
  const store = await memoryStore();
  await insert(store, ...Array.from({ length: 10 }, (_, n) => subscriptionOf(`wh_${n}`)));
  await commitEvents(store, Array.from({ length: 1_000 }, (_, n) => eventAt(101 + (n >> 3), n % 8)), 300);
  // A clock that jumps back and forth.
  let ticks = 0;
  await fanOutOn(store, () => START_MS + (ticks++ % 2 === 0 ? 1_000 : -1_000)).all();
  assert.equal((await store.backlog()).pending, 10_000);
  const due = await pendingOf(store, "wh_7");
  assert.deepEqual(due.map(({ position }) => position), due.map(({ position }) => position).sort());
  assert.deepEqual(due.map(({ dueAtMs }) => dueAtMs), due.map(({ dueAtMs }) => dueAtMs).sort());
});

test("two fan-outs on one store do not owe anything twice, and leave nothing out", async () => {
  const store = await memoryStore();
  await insert(store, ...Array.from({ length: 3 }, (_, n) => subscriptionOf(`wh_${n}`)));
  await commitEvents(store, Array.from({ length: 2_500 }, (_, n) => eventAt(101 + n)), 2_600);
  let deliveries = 0;
  const counting: Store = Object.create(store, {
    commitFanOut: {
      value: async (step: Parameters<Store["commitFanOut"]>[0]) => {
        const done = await store.commitFanOut(step);
        if (done) deliveries += step.deliveries.length;
        return done;
      },
    },
  });
  const [one, other] = [fanOutOn(counting), fanOutOn(counting)];
  await Promise.all([one.all(), other.all()]);
  assert.equal(deliveries, 7_500);
  assert.equal((await store.backlog()).pending, 7_500);
});

test("an event that could not be decoded is passed over", async () => {
  const store = await memoryStore();
  await insert(store, subscriptionOf("wh_1"));
  await commitEvents(store, [eventAt(101, 1, { type: null, raw: { topics: [], value: "" } }), eventAt(101, 2)], 101);
  await fanOutOn(store).all();
  assert.deepEqual((await pendingOf(store, "wh_1")).map(({ position }) => position), [eventAt(101, 2).position]);
});

test("what nobody heard is written down now and then, so that it may be pruned", async () => {
  const store = await memoryStore();
  let nowMs = START_MS;
  const fanOut = fanOutOn(store, () => nowMs);
  await commitEvents(store, [eventAt(101)], 101);
  await fanOut.all();
  assert.equal(await store.fanOutCursor(), undefined);
  nowMs += 600_000;
  await fanOut.all();
  assert.deepEqual(await store.fanOutCursor(), { position: endOfLedger(0, 101), lastDueAtMs: 0 });
});

test("a store that fails once costs nothing but the step", async () => {
  const store = await memoryStore();
  await insert(store, subscriptionOf("wh_1"));
  await commitEvents(store, [eventAt(101)], 101);
  let fails = true;
  const fanOut = fanOutOn(failingStore(store, "commitFanOut", () => fails));
  await assert.rejects(fanOut.all(), /the store fails/);
  fails = false;
  await fanOut.all();
  assert.equal((await store.backlog()).pending, 1);
});

// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { enqueue, openConsumer, requeue } from "../../../lib/webhooks/delivery/consumer.ts";
import { readOn } from "../../../lib/webhooks/delivery/reading.ts";
import { createTestClock } from "../../test_clock.ts";
import { append, eventAt, insert, memoryStore, START_MS, subscriptionOf } from "../parts.ts";

test("an event that goes back to the store while the store is read is read again", async () => {
  const store = await memoryStore();
  await insert(store, subscriptionOf("wh_1"));
  await append(store, [eventAt(101), eventAt(102), eventAt(103)], 200);
  const parts = { store, clock: createTestClock(START_MS) };
  const consumer = openConsumer((await store.deliveries.consumer("wh_1"))!, 0, { name: "webhooks/0", term: 1 });
  const read = async () => {
    await readOn(parts, consumer, 3);
    return consumer.ready.map(({ event }) => event.sequence);
  };
  // The worker passes the event on before it moves the end of the log, where the read begins.
  const [event] = await store.events.read({ filter: {}, order: "asc", limit: 1 });
  enqueue(consumer, [{ event: event!, failed: null }], consumer.cursor);
  const reading = read();
  // A retry that fails meanwhile empties the queue.
  requeue(consumer);
  await reading;
  assert.deepEqual(await read(), [1, 2, 3]);
  await store.close();
});

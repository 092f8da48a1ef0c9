// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { enqueue, requeue } from "../../../lib/webhooks/delivery/consumer.ts";
import { readingThree } from "./reading_three.ts";

test("an event that goes back to the store while the store is read is read again", async () => {
  const { store, consumer, read } = await readingThree();
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

// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { settlementsOf } from "../../../lib/webhooks/delivery/commit.ts";
import { requeue, settled, take } from "../../../lib/webhooks/delivery/consumer.ts";
import { START_MS } from "../parts.ts";
import { readingThree } from "./reading_three.ts";

test("the worker does not read an event again that an endpoint accepted before earlier ones", async () => {
  const { store, consumer, read } = await readingThree();
  const finish = (sequence: number) => {
    const delivery = { sequence, cursor: consumer.cursor, failed: undefined };
    settlementsOf([{ consumer, delivery }]);
    settled(consumer, [delivery], START_MS);
  };
  assert.deepEqual(await read(), [1, 2, 3]);
  // The second probe of an endpoint that is down is the second event.
  consumer.endpoint = { state: "down", until: 0, failures: 13, isAsked: true };
  assert.equal(take(consumer, START_MS).event.sequence, 2);
  finish(2);
  requeue(consumer);
  assert.deepEqual(await read(), [1, 3]);
  consumer.endpoint = { state: "healthy", window: 1 };
  for (const sequence of [1, 3]) {
    assert.equal(take(consumer, START_MS).event.sequence, sequence);
    finish(sequence);
  }
  assert.deepEqual([consumer.inFlight.size, consumer.cursor.beyond.size], [0, 0]);
  await store.close();
});

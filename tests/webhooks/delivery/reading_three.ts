import { openConsumer } from "../../../lib/webhooks/delivery/consumer.ts";
import { createLogPages, readOn } from "../../../lib/webhooks/delivery/reading.ts";
import { createTestClock } from "../../test_clock.ts";
import { append, eventAt, insert, memoryStore, START_MS, subscriptionOf } from "../parts.ts";

/** A consumer of a log of three events. `read` reads on, and returns the sequences of its queue. */
export async function readingThree() {
  const store = await memoryStore();
  await insert(store, subscriptionOf("wh_1"));
  await append(store, [eventAt(101), eventAt(102), eventAt(103)], 200);
  const parts = { store, clock: createTestClock(START_MS), pages: createLogPages(store) };
  const consumer = openConsumer((await store.deliveries.consumer("wh_1"))!, 0, { name: "webhooks/0", term: 1 });
  return {
    store,
    consumer,
    async read(): Promise<number[]> {
      await readOn(parts, consumer, 3);
      return consumer.ready.map(({ event }) => event.sequence);
    },
  };
}

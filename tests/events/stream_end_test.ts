// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createLogReader } from "../../lib/events/log_reader.ts";
import { EventStream } from "../../lib/events/stream.ts";
import { openStore } from "../../lib/store/open.ts";
import { append, sampleEvent } from "../store/samples.ts";

test("a stream that ends during its key check sends no later event", async () => {
  const store = await openStore("memory:");
  await append(store, sampleEvent(1));
  const reader = createLogReader(store);
  const [asked, vetted] = [Promise.withResolvers<void>(), Promise.withResolvers<undefined>()];
  const stream = new EventStream({
    reader,
    bounds: () => store.events.bounds(),
    oldestLedger: () => Promise.resolve(null),
    place: await reader.begin({}, 0, { last: 0, forgotten: 0 }),
    subjects: {},
    keyId: "k1",
    first: [],
    refusal() {
      asked.resolve();
      return vetted.promise;
    },
    join: () => true,
    monotonicMs: () => 0,
    latestLedger: () => 0,
    gaps: () => [],
    onClose() {},
  });
  const told = stream.next();
  await asked.promise;
  await append(store, sampleEvent(2));
  stream.enqueue(await store.events.read({ filter: {}, after: 1, order: "asc", limit: 1 }), 2);
  stream.tellLedger(1_000);
  stream.end("drained");
  vetted.resolve(undefined);
  assert.equal(await told, undefined, "its reader comes back for both");
  await store.close();
});

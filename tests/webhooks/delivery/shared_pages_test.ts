// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { heightOf } from "../../../lib/store/event.ts";
import { createLogPages } from "../../../lib/webhooks/delivery/reading.ts";
import { append, bending, eventAt, idsFrom, insert, memoryStore, subscriptionOf } from "../parts.ts";
import { workerStage } from "./worker_stage.ts";

test("twenty webhooks that are 150 events behind read the log once together", async () => {
  let reads = 0;
  const store = bending("events", "read", (read, query) => {
    reads++;
    return read(query);
  });
  await using made = await workerStage(() => "delivered", { starts: false, store });
  const ids = Array.from({ length: 20 }, (_, n) => `wh_${n}`);
  await insert(made.store, ...ids.map((id) => subscriptionOf(id)));
  await append(made.store, idsFrom(101, 150).map((_, n) => eventAt(101 + n)), 250);
  made.worker.start();
  await made.pass(2_000);
  for (const id of ids) assert.deepEqual(made.idsTo(id), idsFrom(101, 150));
  assert.ok(reads <= 10, `${reads} reads`);
});

test("a webhook that shares a page gets no late event of before its creation", async () => {
  await using made = await workerStage(() => "delivered", { starts: false });
  await insert(made.store, subscriptionOf("wh_old", { startHeight: heightOf(0, 90) }));
  await insert(made.store, subscriptionOf("wh_young", { startHeight: heightOf(0, 101) }));
  await append(made.store, [eventAt(101), eventAt(102)], 102);
  await append(made.store, [eventAt(95)], 102);
  made.worker.start();
  await made.pass(100);
  assert.deepEqual(made.idsTo("wh_old"), [eventAt(101).id, eventAt(102).id, eventAt(95).id]);
  assert.deepEqual(made.idsTo("wh_young"), [eventAt(101).id, eventAt(102).id]);
});

test("after a failed read the page is read again", async () => {
  const store = await memoryStore();
  await append(store, [eventAt(101)], 101);
  let fails = true;
  const bent = bending(
    "events",
    "read",
    (read, query) => fails ? Promise.reject(new Error("no disk")) : read(query),
  );
  const pages = createLogPages(bent(store));
  await assert.rejects(pages.read({}, 0, 1), /no disk/);
  fails = false;
  assert.deepEqual((await pages.read({}, 0, 1)).events.map(({ id }) => id), [eventAt(101).id]);
});

// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { append, eventAt, insert, subscriptionOf } from "../parts.ts";
import { workerStage } from "./worker_stage.ts";

test("a webhook that is made while the log grows is handed nothing of before it", async () => {
  const made = await workerStage(() => "delivered");
  made.worker.start();
  await made.owe(1, "wh_0");
  await made.pass(100);
  // Before the worker looks at the log again.
  await append(made.store, [eventAt(102), eventAt(103)], 103);
  await insert(made.store, subscriptionOf("wh_1"));
  await made.worker.changed("wh_1");
  await made.pass(2_000);
  await append(made.store, [eventAt(104)], 104);
  await made.pass(2_000);
  assert.deepEqual(made.postedTo("wh_1").map(({ eventId }) => eventId), [eventAt(104).id]);
  await made.worker.stop({ drainMs: 0 });
});

// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventAt, owedTo } from "../parts.ts";
import { workerStage } from "./worker_stage.ts";

test("an ordered webhook goes on when what it waits at is forgotten, and not only when that would have been due", async () => {
  const first = eventAt(101).id;
  const made = await workerStage(({ eventId }) => eventId === first ? "retry" : "delivered", {
    ordered: true,
    retryMs: 86_400_000,
  });
  made.worker.start();
  await made.owe(2, "wh_1");
  await made.pass(5_000);
  assert.deepEqual(made.postedTo("wh_1").map(({ eventId }) => eventId), [first]);
  await made.store.events.forget({ upTo: 1, undelivered: [] });
  await made.pass(5_000);
  assert.deepEqual(made.postedTo("wh_1").map(({ eventId }) => eventId), [first, eventAt(102).id]);
  const { pending, dead } = await owedTo(made.store, "wh_1");
  assert.deepEqual({ pending, dead }, { pending: 0, dead: 1 });
  await made.worker.stop({ drainMs: 0 });
});

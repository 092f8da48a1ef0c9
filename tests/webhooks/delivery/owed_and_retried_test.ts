// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { backlogOfAll } from "../../../lib/webhooks/backlog.ts";
import { SCHEDULE } from "../../../lib/store/webhook.ts";
import { createTestClock } from "../../test_clock.ts";
import { eventAt, type Posted, START_MS } from "../parts.ts";
import { workerStage } from "./worker_stage.ts";

test("what has been owed for hours shows how old it is, also where it was tried and is to be tried again", async () => {
  let attempt = 1;
  const { id, knownAt } = eventAt(101);
  const made = await workerStage((post: Posted) => {
    attempt = post.attempt;
    return post.eventId === id ? "retry" : "delivered";
  }, { clock: createTestClock(START_MS), retryMs: () => SCHEDULE[attempt - 1]! * 1_000 });
  made.worker.start();
  await made.owe(1, "wh_1");
  await made.pass(3_600_000, 1_000);
  // The endpoint is well: it takes what is new.
  await made.owe(1, "wh_1");
  await made.pass(10_000, 100);
  const { pending, retrying, failing, oldestSince } = await backlogOfAll(made.store, () => Promise.resolve(true));
  assert.deepEqual({ pending, retrying, failing }, { pending: 1, retrying: 1, failing: 0 });
  assert.equal(oldestSince, knownAt);
  await made.worker.stop({ drainMs: 0 });
});

// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { SCHEDULE } from "../../../lib/retry_schedule.ts";
import { backlogOfAll } from "../../../lib/webhooks/backlog.ts";
import { createTestClock } from "../../test_clock.ts";
import { append, eventAt, idsAt, type Posted, START_MS } from "../parts.ts";
import { workerStage } from "./worker_stage.ts";

/** A worker whose endpoint fails at poison events and accepts the others; retries follow the real schedule. */
async function pickyStage(isPoison: (eventId: string) => boolean) {
  let attempt = 1;
  const made = await workerStage((post: Posted) => {
    attempt = post.attempt;
    return isPoison(post.eventId) ? "retry" : "delivered";
  }, { starts: false, clock: createTestClock(START_MS), retryMs: () => SCHEDULE[attempt - 1]! * 1_000 });
  const taken = () => new Set(made.script.posted.map(({ eventId }) => eventId).filter((id) => !isPoison(id))).size;
  return { ...made, taken };
}

test("three events in a row that an endpoint always fails at do not block later events", async () => {
  const poison = new Set(idsAt(101, 102, 103));
  const made = await pickyStage((id) => poison.has(id));
  made.worker.start();
  await made.owe(13, "wh_1");
  await made.pass(3_600_000, 1_000);
  assert.equal(made.taken(), 10, "an hour later");
  await made.worker.stop({ drainMs: 0 });
});

test("an event that an endpoint always fails at does not delay new events", async () => {
  const made = await pickyStage((id) => id.endsWith("2"));
  made.worker.start();
  await made.owe(1, "wh_1");
  await made.pass(100);
  // For two hours, an accepted event and a poison event every twenty seconds.
  for (let n = 0; n < 360; n++) {
    await append(made.store, [eventAt(200 + n, 1), eventAt(200 + n, 2)], 200 + n, START_MS + n * 20_000);
    made.worker.wake();
    await made.pass(20_000, 500);
  }
  await made.pass(20_000, 500);
  assert.equal(made.taken(), 361);
  await made.worker.stop({ drainMs: 0 });
});

test("a new event that an endpoint accepts does not wait behind 42 events that it always fails at", async () => {
  const made = await pickyStage((id) => id !== eventAt(143).id);
  made.worker.start();
  await made.owe(40, "wh_1");
  await made.pass(3_600_000, 1_000);
  await made.owe(3, "wh_1");
  await made.pass(30_000, 500);
  assert.equal(made.taken(), 1);
  await made.worker.stop({ drainMs: 0 });
});

test("retries do not slow down new events", async () => {
  const isPoison = (id: string) => id < eventAt(160).id;
  const made = await pickyStage(isPoison);
  made.worker.start();
  await made.owe(60, "wh_1");
  await made.pass(3_600_000, 1_000);
  await made.worker.stop({ drainMs: 0 });
  await made.owe(100, "wh_1");
  // All retries are due now.
  made.clock.advance(3_600_000);
  const next = made.newWorker("next");
  next.start();
  await made.pass(20_000, 100);
  assert.equal(made.taken(), 101);
  await next.stop({ drainMs: 0 });
});

test("the backlog's age includes a delivery that has waited an hour for its retry", async () => {
  let attempt = 1;
  const { id, knownAt } = eventAt(101);
  await using made = await workerStage((post: Posted) => {
    attempt = post.attempt;
    return post.eventId === id ? "retry" : "delivered";
  }, { clock: createTestClock(START_MS), retryMs: () => SCHEDULE[attempt - 1]! * 1_000 });
  await made.owe(1, "wh_1");
  await made.pass(3_600_000, 1_000);
  // The endpoint works: it accepts a new event.
  await made.owe(1, "wh_1");
  await made.pass(10_000, 100);
  const { pending, retrying, failing, oldestSince } = await backlogOfAll(made.store, () => Promise.resolve(true));
  assert.deepEqual({ pending, retrying, failing }, { pending: 1, retrying: 1, failing: 0 });
  assert.equal(oldestSince, knownAt);
});

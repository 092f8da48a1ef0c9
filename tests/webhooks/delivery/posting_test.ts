// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { openConsumer } from "../../../lib/webhooks/delivery/consumer.ts";
import { createPosting } from "../../../lib/webhooks/delivery/posting.ts";
import { createPostQueue, WORKER_LIMITS } from "../../../lib/webhooks/delivery/post_queue.ts";
import { enqueue, take } from "../../../lib/webhooks/delivery/ready.ts";
import { createTestClock } from "../../test_clock.ts";
import { eventAt, START_MS, subscriptionOf } from "../parts.ts";

test("a post is put back when a change of the webhook ends its check at that moment", async () => {
  const progress = { cursor: 0, failingSinceMs: null, retrying: 0, rejected: 0, dead: 0, nextDueAtMs: null };
  const stored = { subscription: subscriptionOf("wh_1"), progress, replay: null };
  const consumer = openConsumer(stored, 0, { name: "webhooks", term: 1 });
  const posting = createPosting({
    clock: createTestClock(START_MS),
    limits: WORKER_LIMITS,
    queue: createPostQueue(WORKER_LIMITS),
    // The check has passed, and `consumer.eligible` is gone again.
    eligibility: { check: () => Promise.resolve(true) },
    log: { networkMs: START_MS, forgotten: 0 },
    mayBegin: () => true,
    attempt: () => assert.fail("posted without a check"),
    message: () => assert.fail("posted without a check"),
    onAttempt: () => assert.fail("posted without a check"),
    onProblem: (_, cause) => assert.fail(String(cause)),
  });
  enqueue(consumer, [], [{ ...eventAt(101), sequence: 1 }], consumer.cursor);

  assert.equal(await posting.post(consumer, take(consumer, START_MS)), undefined);
  assert.deepEqual(consumer.ready.map(({ event }) => event.sequence), [1]);
});

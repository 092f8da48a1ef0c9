// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { NewAttempt } from "../../../lib/store/webhook.ts";
import { createAttempter } from "../../../lib/webhooks/delivery/attempt.ts";
import { createDeliveryWorker } from "../../../lib/webhooks/delivery/worker.ts";
import { SCHEDULE } from "../../../lib/retry_schedule.ts";
import { MAX_ATTEMPTS } from "../../../lib/webhooks/delivery/schedule.ts";
import { createTestClock } from "../../test_clock.ts";
import { append, eventAt, insert, memoryStore, START_MS, subscriptionOf } from "../parts.ts";

test("an event of an ordered webhook gets all 15 attempts: probes of the endpoint do not count", async () => {
  const store = await memoryStore();
  const clock = createTestClock(START_MS);
  const attempts: NewAttempt[] = [];
  await insert(store, subscriptionOf("wh_1", { ordered: true }));
  await append(store, [eventAt(101)], 101);
  const worker = createDeliveryWorker({
    store,
    clock,
    attempt: createAttempter({
      clock,
      post: () => Promise.resolve({ statusCode: 503, responseBody: "", durationMs: 1 }),
      random: () => 0.5,
      onProblem: (message, cause) => assert.fail(`${message}: ${cause}`),
    }),
    isKeyEnabled: () => Promise.resolve(true),
    recipient: ({ id, url }) => ({ id, url, secrets: [] }),
    message: ({ id, type }) => ({ id, type, json: "{}" }),
    holder: "worker",
    onAttempt: (attempt) => attempts.push(attempt),
    onProblem: (message, cause) => assert.fail(`${message}: ${cause}`),
    gatherMs: 1,
  });
  worker.start();
  const isDead = async () => (await store.deliveries.consumer("wh_1"))!.progress.dead > 0;
  // The network's clock does not move, so the event does not die of its age.
  for (let minute = 0; minute < 80 * 60 && !await isDead(); minute++) {
    for (let turn = 0; turn < 20; turn++) await yieldToOthers();
    clock.advance(60_000);
  }
  const real = attempts.filter(({ number }) => number > 0);
  const hours = (attempts.at(-1)!.atMs - START_MS) / 3_600_000;
  const scheduled = SCHEDULE.reduce((sum, seconds) => sum + seconds, 0) / 3_600;
  assert.equal(real.length, MAX_ATTEMPTS, `dead after ${hours.toFixed(1)} h of ${scheduled.toFixed(1)} h`);
  assert.ok(hours >= scheduled, `dead after ${hours} h, scheduled are ${scheduled} h`);
  await worker.stop({ drainMs: 0 });
});

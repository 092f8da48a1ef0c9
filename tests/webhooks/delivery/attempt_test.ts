import assert from "node:assert/strict";
import { test } from "node:test";
import { createAttempter } from "../../../lib/webhooks/delivery/attempt.ts";
import { nextAttempt } from "../../../lib/webhooks/delivery/schedule.ts";
import { createTestClock } from "../../test_clock.ts";
import { START_MS } from "../parts.ts";

const HOUR_MS = 3_600_000;

test("the next attempt is counted from the end of this one, by the clock as it is then", async () => {
  const clock = createTestClock(START_MS);
  let stepMs = 0;
  const attempt = createAttempter({
    post() {
      clock.advance(2_000);
      clock.step(stepMs);
      return Promise.resolve({ statusCode: 503, durationMs: 2_000, responseBody: "" });
    },
    clock,
    next: (number, outcome, nowMs, ageMs) => nextAttempt({ attempt: number, outcome, nowMs, ageMs, random: () => 0.5 }),
  });
  for (stepMs of [0, -960 * HOUR_MS, HOUR_MS]) {
    const atMs = clock.now();
    const made = await attempt({
      recipient: { id: "wh_1", url: "https://shop.example/", secrets: [] },
      message: { id: "1-1", type: "claimed", json: "{}" },
      attempts: 0,
      ageMs: 0,
      kind: "delivery",
      replayId: null,
    });
    assert.deepEqual([made.atMs, made.durationMs, made.outcome], [atMs, 2_000, "retry"]);
    assert.equal(made.nextAttemptAtMs, clock.now() + 5_000);
  }
});

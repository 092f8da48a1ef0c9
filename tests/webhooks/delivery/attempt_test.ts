// needs: runtime
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../../lib/clock.ts";
import { createAttempter } from "../../../lib/webhooks/delivery/attempt.ts";
import { createPoster } from "../../../lib/webhooks/post/post.ts";
import { createTargetPolicy } from "../../../lib/webhooks/targets/policy.ts";
import { startReceiver } from "../../e2e/receiver.ts";
import { createTestClock } from "../../test_clock.ts";
import { START_MS } from "../parts.ts";

const HOUR_MS = 3_600_000;

type Request = Parameters<ReturnType<typeof createAttempter>>[0];

const request = (kind: Request["kind"] = "delivery", url = "https://shop.example/"): Request => ({
  recipient: { id: "wh_1", url, secrets: [] },
  message: { id: "1-1", type: "claimed", json: "{}" },
  ...{ attempts: 0, ageMs: 0, kind, replayId: null },
});
const usual = {
  random: () => 0.5,
  onProblem: (message: string, cause: unknown) => assert.fail(`${message}: ${cause}`),
};

test("the delay until the next attempt starts at the end of this one, also after a clock step", async () => {
  const clock = createTestClock(START_MS);
  let stepMs = 0;
  const attempt = createAttempter({
    post() {
      clock.advance(2_000);
      clock.step(stepMs);
      return Promise.resolve({ statusCode: 503, durationMs: 2_000, responseBody: "" });
    },
    clock,
    ...usual,
  });
  for (stepMs of [0, -960 * HOUR_MS, HOUR_MS]) {
    const atMs = clock.now();
    const made = await attempt(request());
    assert.deepEqual([made.atMs, made.durationMs, made.outcome], [atMs, 2_000, "retry"]);
    assert.equal(made.nextAttemptAtMs, clock.now() + 5_000);
  }
});

test("the gateway stores the response body of a failure or a test, not of a successful delivery", async () => {
  let statusCode = 200;
  const receiver = await startReceiver(() => statusCode);
  const policy = createTargetPolicy({ resolve: () => Promise.resolve([]), allowLoopbackHttp: true });
  const poster = createPoster({ policy, now: systemClock.monotonicMs });
  const attempt = createAttempter({ post: poster.post, clock: systemClock, ...usual });
  const kept: unknown[] = [];
  for (const kind of ["delivery", "probe", "test"] as const) {
    for (statusCode of [200, 204, 410, 503]) {
      const made = await attempt(request(kind, receiver.url));
      assert.equal(made.statusCode, statusCode);
      kept.push([kind, statusCode, made.responseBody]);
    }
  }
  const usually = (
    kind: string,
  ) => [[kind, 200, null], [kind, 204, null], [kind, 410, "thanks"], [kind, 503, "thanks"]];
  assert.deepEqual(kept, [
    ...usually("delivery"),
    ...usually("probe"),
    ["test", 200, "thanks"],
    ...usually("test").slice(1),
  ]);
  poster.close();
  await receiver.stop();
});

test("a post that fails inside the gateway counts as a failed attempt, and the gateway reports the problem", async () => {
  const problems: string[] = [];
  const parts = { ...usual, clock: createTestClock(START_MS), onProblem: (message: string) => problems.push(message) };
  const attempt = createAttempter({ ...parts, post: () => Promise.reject(new TypeError("a bug")) });
  const made = await attempt(request());
  assert.deepEqual([made.outcome, made.error], ["retry", "the gateway failed to send it"]);
  assert.deepEqual(problems, ["a webhook delivery cannot be attempted"]);
});

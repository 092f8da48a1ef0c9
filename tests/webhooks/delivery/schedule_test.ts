// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import {
  JITTER,
  LONGEST_DELAY_MS,
  longestDelayMs,
  MAX_RETRY_AFTER_SECONDS,
  SCHEDULE,
} from "../../../lib/retry_schedule.ts";
import { isDue } from "../../../lib/store/webhook.ts";
import { MAX_AGE_MS, MAX_ATTEMPTS, nextAttempt } from "../../../lib/webhooks/delivery/schedule.ts";

const NOW = Date.parse("2026-03-01T12:00:00.000Z");
/** In the middle of the jitter. */
const even = () => 0.5;

type Result = Parameters<typeof nextAttempt>[0]["result"];

const failures: fc.Arbitrary<Result> = fc.oneof(
  fc.constant({ error: "connection refused" }),
  fc.record({
    statusCode: fc.oneof(fc.constant(429), fc.integer({ min: 500, max: 599 })),
    retryAfter: fc.oneof(fc.constant(undefined), fc.string(), fc.nat().map(String)),
  }),
);
const randoms = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

/** How long until the next attempt, in seconds. */
function delay(retryAfter: string | undefined, { attempt = 1, statusCode = 429, random = even } = {}): number {
  const next = nextAttempt({ ageMs: 0, attempt, result: { statusCode, retryAfter }, nowMs: NOW, random });
  assert.equal(next.outcome, "retry");
  return (next.nextAttemptAtMs! - NOW) / 1000;
}

describe("the retry schedule", () => {
  test("has fifteen attempts over about three days, each delay at least as long as the one before", () => {
    assert.equal(MAX_ATTEMPTS, 15);
    assert.deepEqual(SCHEDULE.slice(0, 7), [5, 30, 120, 600, 1_800, 3_600, 7_200]);
    assert.deepEqual(SCHEDULE, SCHEDULE.toSorted((a, b) => a - b));
    const days = SCHEDULE.reduce((sum, seconds) => sum + seconds, 0) / 86_400;
    assert.ok(days > 2.9 && days < 3.1, `${days} days`);
  });
});

describe("nextAttempt", () => {
  test("counts every 2xx as delivered, and every other answer except 429 and 5xx as rejected", () => {
    fc.assert(
      fc.property(fc.integer({ min: 200, max: 999 }), fc.integer({ min: 1, max: 15 }), (statusCode, attempt) => {
        fc.pre(statusCode !== 429 && !(statusCode >= 500 && statusCode <= 599));
        const result = { statusCode, retryAfter: "60" } as const;
        const expected = statusCode < 300 ? "delivered" : "rejected";
        assert.deepEqual(nextAttempt({ ageMs: 0, attempt, result, nowMs: NOW, random: even }), { outcome: expected });
      }),
    );
  });

  test("rejects at a redirect, and at 408, 410 and 425 as at any other 4xx", () => {
    for (const statusCode of [301, 302, 307, 308, 400, 401, 404, 408, 410, 425]) {
      const result = { statusCode } as const;
      const next = nextAttempt({ ageMs: 0, attempt: 1, result, nowMs: NOW, random: even });
      assert.deepEqual(next, { outcome: "rejected" });
    }
  });

  test("retries network errors, 429 and 5xx within the schedule's jitter, or as late as Retry-After asks, up to a day", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 14 }), failures, randoms, (attempt, result, random) => {
        const next = nextAttempt({ ageMs: 0, attempt, result, nowMs: NOW, random: () => random });
        assert.equal(next.outcome, "retry");
        const delayMs = next.nextAttemptAtMs! - NOW;
        const scheduledMs = SCHEDULE[attempt - 1]! * 1000;
        assert.ok(Number.isInteger(delayMs) && delayMs >= scheduledMs * (1 - JITTER), `${delayMs}`);
        const wasAsked = result.retryAfter !== undefined;
        const mostMs = scheduledMs * (1 + JITTER) + 1;
        assert.ok(delayMs <= LONGEST_DELAY_MS);
        assert.ok(delayMs <= (wasAsked ? Math.max(mostMs, MAX_RETRY_AFTER_SECONDS * 1000) : mostMs), `${delayMs}`);
      }),
    );
  });

  test("returns no delay that isDue takes for a clock that was set back", () => {
    const failed = { sequence: 1, state: "retrying", attempts: 1, failedAtMs: NOW, attemptedAtMs: NOW } as const;
    assert.equal(isDue({ ...failed, dueAtMs: NOW + LONGEST_DELAY_MS }, NOW), false);
    assert.equal(isDue({ ...failed, dueAtMs: NOW + LONGEST_DELAY_MS + 1 }, NOW), true);
  });

  for (const schedule of [SCHEDULE, [5, 48 * 3_600]]) {
    test(`has the longest delay of schedule and Retry-After, with a last scheduled delay of ${schedule.at(-1)} s`, () => {
      const most = Math.max(...schedule, MAX_RETRY_AFTER_SECONDS) * (1 + JITTER) * 1_000;
      assert.equal(longestDelayMs(schedule), Math.ceil(most));
    });
  }

  test("spreads a delay over its whole jitter", () => {
    assert.equal(delay(undefined, { random: () => 0 }), 4.5);
    assert.equal(delay(undefined, { random: () => 0.5 }), 5);
    assert.ok(delay(undefined, { random: () => 0.999_999 }) > 5.49);
  });

  test("ends as dead after the last attempt, also with a Retry-After", () => {
    fc.assert(fc.property(failures, (result) => {
      assert.deepEqual(nextAttempt({ ageMs: 0, attempt: 15, result, nowMs: NOW, random: even }), { outcome: "dead" });
    }));
  });

  test("ends as dead at a failure after three days, also with few attempts", () => {
    assert.equal(MAX_AGE_MS, 3 * 86_400_000);
    fc.assert(fc.property(fc.integer({ min: 1, max: 14 }), failures, fc.nat(), (attempt, result, moreMs) => {
      const at = (ageMs: number) => nextAttempt({ ageMs, attempt, result, nowMs: NOW, random: even }).outcome;
      assert.deepEqual([at(MAX_AGE_MS - 1), at(MAX_AGE_MS), at(MAX_AGE_MS + moreMs)], ["retry", "dead", "dead"]);
    }));
  });

  test("returns delivered or rejected also for an event older than three days", () => {
    for (const [statusCode, outcome] of [[200, "delivered"], [410, "rejected"]] as const) {
      const answered = { statusCode } as const;
      const next = nextAttempt({ ageMs: 2 * MAX_AGE_MS, attempt: 1, result: answered, nowMs: NOW, random: even });
      assert.deepEqual(next, { outcome });
    }
  });
});

describe("Retry-After", () => {
  test("in seconds is the least delay until the next attempt, for 429 and 5xx alike", () => {
    for (const statusCode of [429, 500, 503]) {
      assert.equal(delay("120", { statusCode, random: () => 0 }), 120);
      assert.ok(delay("120", { statusCode, random: () => 0.9 }) > 120);
      assert.ok(delay("120", { statusCode, random: () => 0.9 }) <= 132);
    }
  });

  test("as a date is the least delay too", () => {
    assert.equal(delay("Sun, 01 Mar 2026 12:10:00 GMT", { random: () => 0 }), 600);
  });

  test("never brings an attempt forward", () => {
    for (const soon of ["0", "1", "Sun, 01 Mar 2026 12:00:01 GMT"]) assert.equal(delay(soon, { attempt: 4 }), 600);
  });

  test("counts up to a day", () => {
    const seconds = ["86400", "86401", "1000000000", "9".repeat(400)];
    const dates = ["Wed, 01 Apr 2026 12:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT"];
    for (const far of [...seconds, ...dates]) assert.equal(delay(far), 86_400);
  });

  test("is ignored when it is in the past or malformed", () => {
    const garbage = [
      ...[
        "Sat, 28 Feb 2026 12:00:00 GMT",
        "Thu, 01 Jan 1970 00:00:00 GMT",
        "",
        " ",
        "soon",
        "-60",
        "+60",
        "1e9",
        "60.5",
      ],
      ...["0x60", "60s", "60, 120", "Infinity", "NaN", "2026-04-01T12:00:00Z", "Sun, 99 Mar 2026 12:00:00 GMT", "٦٠"],
    ];
    for (const text of garbage) assert.equal(delay(text), 5, JSON.stringify(text));
  });
});

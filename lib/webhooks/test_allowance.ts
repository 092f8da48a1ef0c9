import { GatewayError } from "../errors.ts";

/** Test events of one subscription in a minute. */
const TESTS = 6;
const WINDOW_MS = 60_000;

/** Counts the test events of each subscription; its memory is bounded by what was tested in the last minute. */
export function createTestAllowance(now: () => number): { take(subscriptionId: string): void } {
  const recent = new Map<string, number[]>();

  function forgetOld(oldestMs: number): void {
    for (const [id, times] of recent) {
      if (times.at(-1)! > oldestMs) return;
      recent.delete(id);
    }
  }

  return {
    /** @throws {GatewayError} `rate_limited` when the subscription had its tests of this minute */
    take(subscriptionId) {
      const nowMs = now();
      forgetOld(nowMs - WINDOW_MS);
      const times = (recent.get(subscriptionId) ?? []).filter((atMs) => atMs > nowMs - WINDOW_MS);
      if (times.length >= TESTS) {
        const waitSeconds = Math.max(1, Math.ceil((times[0]! + WINDOW_MS - nowMs) / 1000));
        throw new GatewayError("rate_limited", `a webhook is tested at most ${TESTS} times a minute`, {
          headers: { "Retry-After": String(waitSeconds) },
        });
      }
      // The subscription tested last stands last.
      recent.delete(subscriptionId);
      recent.set(subscriptionId, [...times, nowMs]);
    },
  };
}

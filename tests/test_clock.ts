import type { Clock, Wait } from "../lib/clock.ts";

/** A clock that a test advances; the wall clock can move independently of the monotonic clock. */
export interface TestClock extends Clock {
  /** Every requested wait, in milliseconds. */
  readonly pauses: number[];
  /** Runs `act`, and resolves when a wait begins. */
  untilPause(act: () => void): Promise<void>;
  /** Lets time pass. */
  advance(ms: number): void;
  /** Sets the wall clock ahead, or back, as an operator or NTP does. */
  step(ms: number): void;
}

export function createTestClock(startMs = Date.parse("2026-01-01T00:00:00Z")): TestClock {
  let monotonicMs = 1_000_000;
  let aheadMs = startMs - monotonicMs;
  let timers: { at: number; ring: () => void }[] = [];
  const pauses: number[] = [];
  const onPause: (() => void)[] = [];
  const wait: Wait = (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      pauses.push(ms);
      const timer = { at: monotonicMs + ms, ring: resolve };
      timers.push(timer);
      signal?.addEventListener("abort", () => {
        timers = timers.filter((other) => other !== timer);
        resolve();
      });
      for (const told of onPause.splice(0)) told();
    });
  return {
    now: () => monotonicMs + aheadMs,
    monotonicMs: () => monotonicMs,
    wait,
    pauses,
    async untilPause(act) {
      const paused = new Promise<void>((resolve) => onPause.push(resolve));
      act();
      await paused;
    },
    advance(ms) {
      monotonicMs += ms;
      const due = timers.filter(({ at }) => at <= monotonicMs);
      timers = timers.filter(({ at }) => at > monotonicMs);
      for (const { ring } of due) ring();
    },
    step(ms) {
      aheadMs += ms;
    },
  };
}

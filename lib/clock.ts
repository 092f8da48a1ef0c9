/** Resolves after `ms` milliseconds, or as soon as `signal` aborts; never rejects. */
export type Wait = (ms: number, signal?: AbortSignal) => Promise<void>;

/** Whole milliseconds since the process started, for durations. Changes of the wall clock do not matter. */
export const monotonicNow = (): number => Math.floor(performance.now());

/** The real `Wait`, on the runtime's timers. */
export const sleep: Wait = (ms, signal) =>
  new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done, { once: true });
  });

/** Unix milliseconds as ISO 8601 UTC (`2026-01-01T00:00:00.000Z`). Throws a RangeError for an invalid time. */
export function isoTime(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

/** The same in whole seconds (`2026-01-01T00:00:00Z`), as the RPC writes close times. */
export function isoSeconds(timeMs: number): string {
  return `${isoTime(timeMs).slice(0, -5)}Z`;
}

/** The clock that every part of the gateway receives. */
export interface Clock {
  /** The wall clock, Unix milliseconds, for people and the network. It may jump either way. */
  now(): number;
  /** Milliseconds since some moment of this process, for intervals. It never jumps or goes back. */
  monotonicMs(): number;
  wait: Wait;
  /**
   * The ledgers to which the sandbox reverted its network and clock, in order. Absent for other networks, where a
   * revert looks like a lagging node beside a clock that was set back.
   */
  networkReverts?(): readonly number[];
}

/** The clock of this machine. */
export const systemClock: Clock = { now: Date.now, monotonicMs: () => performance.now(), wait: sleep };

/** A smaller step is drift, or a slow call. */
const SMALLEST_STEP_MS = 2_000;

/**
 * Compares wall clock and monotonic clock. Each call returns by how many milliseconds the wall clock was moved since
 * the last one, else 0. Call it about every second.
 */
export function createStepWatch({ now, monotonicMs }: Pick<Clock, "now" | "monotonicMs">): () => number {
  let offsetMs = now() - monotonicMs();
  return function stepMs() {
    const stepMs = now() - monotonicMs() - offsetMs;
    if (Math.abs(stepMs) < SMALLEST_STEP_MS) return 0;
    offsetMs += stepMs;
    return Math.round(stepMs);
  };
}

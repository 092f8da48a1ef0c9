/** Resolves after `ms` milliseconds, or as soon as `signal` aborts; never rejects. */
export type Wait = (ms: number, signal?: AbortSignal) => Promise<void>;

/** Whole milliseconds since the process began, whatever is done to the wall clock: for measuring how long something takes. */
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

/** Unix milliseconds as ISO 8601 UTC (`2026-01-01T00:00:00.000Z`). Throws a RangeError for what is no time. */
export function isoTime(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

/** The same with seconds (`2026-01-01T00:00:00Z`), as the RPC writes close times; what is less than one is cut off. */
export function isoSeconds(timeMs: number): string {
  return `${isoTime(timeMs).slice(0, -5)}Z`;
}

/** Time as every part of the gateway is handed it. */
export interface Clock {
  /** The wall clock, Unix milliseconds: for what people and the network see. It may jump, either way. */
  now(): number;
  /** Milliseconds since a moment of this process: for intervals. It never jumps and never goes back. */
  monotonicMs(): number;
  wait: Wait;
  /**
   * The ledgers to which the network was taken back, its clock with it, in the order in which it was: the sandbox's, which
   * knows. Absent: a network that others run, where a node that lags beside a clock that was set back looks alike.
   */
  networkReverts?(): readonly number[];
}

/** The clock of this machine. */
export const systemClock: Clock = { now: Date.now, monotonicMs: () => performance.now(), wait: sleep };

/** Less is drift, or a slow look. */
const SMALLEST_STEP_MS = 2_000;

/**
 * Notices steps of the wall clock, by the monotonic one: answers by how many milliseconds it was moved since the last
 * call, 0 when it was not. To be asked every second or so.
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

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

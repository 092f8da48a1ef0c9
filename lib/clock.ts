/** Resolves after `ms` milliseconds, or as soon as `signal` aborts; never rejects. */
export type Wait = (ms: number, signal?: AbortSignal) => Promise<void>;

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

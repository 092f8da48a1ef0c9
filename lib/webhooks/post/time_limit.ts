/** A bound on the time of several steps together. */
export interface TimeLimit {
  /** Why there is no more time, in words for an operator; undefined while there is. */
  readonly reached: string | undefined;
  /** How to stop the step under way; takes the place of the last step's. Called at once when the limit is reached already. */
  onReached(stop: (why: string) => void): void;
  /** The steps are done: nothing is called any more. */
  clear(): void;
}

/** Reached after `timeoutMs`, or as soon as the signal is aborted. */
export function createTimeLimit(timeoutMs: number, signal?: AbortSignal): TimeLimit {
  let reached: string | undefined;
  let stopStep: ((why: string) => void) | undefined;

  function reach(why: string): void {
    reached ??= why;
    stopStep?.(reached);
  }

  const timer = setTimeout(() => reach(`timed out after ${timeoutMs / 1000} s`), timeoutMs);
  const onAbort = () => reach("given up by the gateway");
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted) onAbort();

  return {
    get reached() {
      return reached;
    },
    onReached(stop) {
      stopStep = stop;
      if (reached !== undefined) stop(reached);
    },
    clear() {
      stopStep = undefined;
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    },
  };
}

/** A bound on the time of several steps together. */
export interface TimeLimit {
  /** Why there is no more time, in words for an operator; undefined while there is. */
  readonly reached: string | undefined;
  /** How to stop the step under way; takes the place of the last step's. Called at once when the limit is reached already. */
  onReached(stop: (why: string) => void): void;
  /** The steps are done: nothing is called any more. */
  clear(): void;
}

export interface Deadlines {
  /** Reached after `timeoutMs`, or as soon as the signal is aborted. */
  limit(timeoutMs: number, signal?: AbortSignal): TimeLimit;
}

const GIVEN_UP = "given up by the gateway";

/**
 * Time limits that share one timer, and one listener for each signal: one for each limit would be a tenth of what a post
 * costs on Deno.
 */
export function createDeadlines(): Deadlines {
  const open = new Set<Limit>();
  const heard = new WeakSet<AbortSignal>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let wakesAtMs = Infinity;

  function wakeAt(atMs: number): void {
    clearTimeout(timer);
    wakesAtMs = atMs;
    timer = atMs === Infinity ? undefined : setTimeout(wake, Math.max(0, Math.ceil(atMs - performance.now())));
  }

  function wake(): void {
    const nowMs = performance.now();
    let nextMs = Infinity;
    for (const limit of open) {
      if (limit.atMs <= nowMs) limit.reach(limit.timedOut);
      else nextMs = Math.min(nextMs, limit.atMs);
    }
    wakeAt(nextMs);
  }

  function hear(signal: AbortSignal): void {
    if (heard.has(signal)) return;
    heard.add(signal);
    signal.addEventListener("abort", () => {
      for (const limit of open) if (limit.signal === signal) limit.reach(GIVEN_UP);
    }, { once: true });
  }

  class Limit implements TimeLimit {
    readonly atMs: number;
    readonly timedOut: string;
    #reached: string | undefined;
    #stop: ((why: string) => void) | undefined;

    constructor(timeoutMs: number, readonly signal: AbortSignal | undefined) {
      this.atMs = performance.now() + timeoutMs;
      this.timedOut = `timed out after ${timeoutMs / 1000} s`;
      open.add(this);
      if (this.atMs < wakesAtMs) wakeAt(this.atMs);
      if (signal?.aborted) this.reach(GIVEN_UP);
      else if (signal !== undefined) hear(signal);
    }
    /** By the clock: in a process that stood still the timer may come after what it was to stop. */
    get reached(): string | undefined {
      return this.#reached ?? (this.atMs <= performance.now() ? this.timedOut : undefined);
    }
    reach(why: string): void {
      open.delete(this);
      this.#reached ??= why;
      this.#stop?.(this.#reached);
    }
    onReached(stop: (why: string) => void): void {
      this.#stop = stop;
      if (this.reached !== undefined) stop(this.reached);
    }
    clear(): void {
      this.#stop = undefined;
      open.delete(this);
      if (open.size === 0) wakeAt(Infinity);
    }
  }

  return { limit: (timeoutMs, signal) => new Limit(timeoutMs, signal) };
}

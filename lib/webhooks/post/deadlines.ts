/** A time limit for several steps together. */
export interface TimeLimit {
  /** Why the time is over, for an operator; undefined while it is not. */
  readonly reached: string | undefined;
  /** Sets how to stop the current step, instead of the last one's. Called at once when the limit is already reached. */
  onReached(stop: (why: string) => void): void;
  /** The steps are done, and no callback follows. */
  clear(): void;
}

export interface Deadlines {
  /** The limit is reached after `timeoutMs`, or when the signal aborts. */
  limit(timeoutMs: number, signal?: AbortSignal): TimeLimit;
}

const GIVEN_UP = "given up by the gateway";

/**
 * Time limits that share one timer, and one listener per signal. A timer for each would be a tenth of a post's cost on
 * Deno.
 */
export function createDeadlines(): Deadlines {
  const open = new Set<Limit>();
  const observed = new WeakSet<AbortSignal>();
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

  function observe(signal: AbortSignal): void {
    if (observed.has(signal)) return;
    observed.add(signal);
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
      else if (signal !== undefined) observe(signal);
    }
    /** By the clock: after a suspension of the process the timer may be late. */
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

/** A time limit for several steps together. */
export class TimeLimit {
  readonly #endsAtMs: number;
  #stop: ((why: string) => void) | undefined;

  /** @param signal ends the time, too */
  constructor(readonly timeoutMs: number, readonly signal: AbortSignal | undefined) {
    this.#endsAtMs = performance.now() + timeoutMs;
  }

  /** Why the time is over, for an operator; undefined while it is not. */
  get reached(): string | undefined {
    if (this.signal?.aborted) return "given up by the gateway";
    return performance.now() < this.#endsAtMs ? undefined : `timed out after ${this.timeoutMs / 1000} s`;
  }

  /** Sets how to stop the current step, instead of the last one's. Called at once when the limit is already reached. */
  onReached(stop: (why: string) => void): void {
    this.#stop = stop;
    this.check();
  }

  /** The steps are done. It holds nothing of them: a set that changes often may refer to it for long. */
  end(): void {
    this.#stop = undefined;
  }

  check(): void {
    const why = this.reached;
    if (why !== undefined) this.#stop?.(why);
  }
}

const TICK_MS = 50;

/** Checks open limits with one timer. A timer for each would be a tenth of a post's cost on Deno. */
export function createDeadlines() {
  const open = new Set<TimeLimit>();
  let timer: ReturnType<typeof setInterval> | undefined;

  return {
    limit(timeoutMs: number, signal?: AbortSignal): TimeLimit {
      const limit = new TimeLimit(timeoutMs, signal);
      open.add(limit);
      timer ??= setInterval(() => open.forEach((one) => one.check()), TICK_MS);
      return limit;
    },
    /** The steps are done, and no callback follows. */
    clear(limit: TimeLimit): void {
      limit.end();
      open.delete(limit);
      if (open.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    },
  };
}

import type { Clock } from "../../../lib/clock.ts";
import type { RpcClient } from "../../../lib/stellar/rpc/client.ts";

/** An RPC client of which only the given methods answer; for faults that a real node shows seldom. */
export function stubRpc(methods: Partial<RpcClient>): RpcClient & { calls: string[] } {
  const calls: string[] = [];
  return new Proxy({ calls } as RpcClient & { calls: string[] }, {
    get(target, name: string) {
      if (name === "calls") return target.calls;
      if (name === "then") return undefined;
      return (...args: unknown[]) => {
        calls.push(name);
        const method = methods[name as keyof RpcClient] as ((...args: unknown[]) => Promise<unknown>) | undefined;
        if (method === undefined) throw new Error(`${name} was not expected`);
        return method(...args);
      };
    },
  });
}

/** A clock that moves only when a caller waits on it, or by `pass`: a wait takes no real time. */
export interface FakeClock extends Clock {
  /** Time passes. */
  pass(ms: number): void;
  /** The wall clock is moved, either way; no time passes. */
  step(ms: number): void;
}

export function fakeClock(startMs = 1_800_000_000_000): FakeClock {
  let elapsedMs = 0;
  let offsetMs = startMs;
  const sleepers: { atMs: number; wake: () => void }[] = [];
  let running = false;

  function run(): void {
    if (running) return;
    running = true;
    setTimeout(function next() {
      sleepers.sort((a, b) => a.atMs - b.atMs);
      const first = sleepers.shift();
      if (first === undefined) return void (running = false);
      elapsedMs = Math.max(elapsedMs, first.atMs);
      first.wake();
      setTimeout(next, 0);
    }, 0);
  }

  return {
    now: () => offsetMs + elapsedMs,
    monotonicMs: () => elapsedMs,
    pass: (ms) => void (elapsedMs += ms),
    step: (ms) => void (offsetMs += ms),
    wait: (ms, signal) =>
      new Promise<void>((resolve) => {
        if (signal?.aborted) return resolve();
        const sleeper = { atMs: elapsedMs + ms, wake: resolve };
        sleepers.push(sleeper);
        signal?.addEventListener("abort", () => {
          const at = sleepers.indexOf(sleeper);
          if (at >= 0) sleepers.splice(at, 1);
          resolve();
        }, { once: true });
        run();
      }),
  };
}

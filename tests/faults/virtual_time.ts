import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { Clock } from "../../lib/clock.ts";
import type { Schedule } from "../../lib/sandbox/ledger/ticker.ts";

/** Time that passes only when nobody has anything to do: an hour of waiting takes as long as what is done in it. */
export interface VirtualTime extends Clock {
  schedule: Schedule;
  /** Lets time pass until this is settled. */
  until<T>(promise: Promise<T>): Promise<T>;
  /** Does what takes real time, as a database does; virtual time stands still meanwhile. */
  during<T>(work: () => Promise<T>): Promise<T>;
}

/** Turns of the event loop after which nobody is taken to have anything to do. */
const IDLE_TURNS = 6;

export function createVirtualTime(startMs: number): VirtualTime {
  let nowMs = startMs;
  const timers = new Map<number, { atMs: number; ring: () => void }>();
  let timersSet = 0;
  const underWay = new Set<Promise<unknown>>();

  const schedule: Schedule = (ring, delayMs) => {
    const id = timersSet++;
    timers.set(id, { atMs: nowMs + Math.max(0, delayMs), ring });
    return () => void timers.delete(id);
  };

  function ringNext(): void {
    let next: [number, { atMs: number; ring: () => void }] | undefined;
    for (const timer of timers) if (next === undefined || timer[1].atMs < next[1].atMs) next = timer;
    if (next === undefined) return;
    timers.delete(next[0]);
    nowMs = Math.max(nowMs, next[1].atMs);
    next[1].ring();
  }

  /** Until nobody has anything to do, or this is over. */
  async function idle(isOver: () => boolean): Promise<void> {
    for (let turn = 0; turn < IDLE_TURNS && !isOver(); turn++) {
      await yieldToOthers();
      if (underWay.size === 0) continue;
      await Promise.allSettled(underWay);
      turn = -1;
    }
  }

  return {
    now: () => Math.floor(nowMs),
    monotonicMs: () => nowMs - startMs,
    wait: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const cancel = schedule(() => {
          signal?.removeEventListener("abort", aborted);
          resolve();
        }, ms);
        const aborted = () => {
          cancel();
          resolve();
        };
        signal?.addEventListener("abort", aborted, { once: true });
      }),
    schedule,
    async until(promise) {
      let isSettled = false;
      const settled = () => void (isSettled = true);
      promise.then(settled, settled);
      while (!isSettled) {
        await idle(() => isSettled);
        if (!isSettled) ringNext();
      }
      return await promise;
    },
    during(work) {
      const done = work().finally(() => underWay.delete(done));
      underWay.add(done);
      return done;
    },
  };
}

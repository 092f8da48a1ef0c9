import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { Wait } from "./clock.ts";

/** Work that goes on in the background, a bounded step at a time. */
export interface Loop {
  start(): void;
  /** Cuts the rest between two steps short; a failing step keeps its pause. */
  wake(): void;
  /** Ends it; resolves when no step runs any more. */
  stop(): Promise<void>;
}

export interface LoopParts {
  /** Does one bounded step and answers how long to rest, in milliseconds: 0 goes on at once, Infinity waits to be woken. */
  step(signal: AbortSignal): Promise<number>;
  wait: Wait;
  /** Told when a step fails after one that did not. */
  onProblem(cause: unknown): void;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
/** Timers take no more than 31 bits. */
const LONGEST_REST_MS = 3_600_000;

export function createLoop({ step, wait, onProblem }: LoopParts): Loop {
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  let resting: { cut: AbortController; wakeable: boolean } | undefined;
  let woken = false;

  async function rest(restMs: number, wakeable: boolean): Promise<void> {
    if (stopping.signal.aborted || (wakeable && woken)) return;
    resting = { cut: new AbortController(), wakeable };
    await wait(Math.min(restMs, LONGEST_REST_MS), resting.cut.signal);
    resting = undefined;
  }

  async function run(): Promise<void> {
    let failures = 0;
    while (!stopping.signal.aborted) {
      woken = false;
      try {
        const restMs = await step(stopping.signal);
        failures = 0;
        if (restMs > 0) await rest(restMs, true);
        else await yieldToOthers();
      } catch (cause) {
        if (failures === 0) onProblem(cause);
        await rest(Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures, 10)), false);
        failures++;
      }
    }
  }

  return {
    start() {
      running ??= run();
    },
    wake() {
      woken = true;
      if (resting?.wakeable) resting.cut.abort();
    },
    async stop() {
      stopping.abort();
      resting?.cut.abort();
      await running;
    },
  };
}

/** Work that is done every so often, and when it is asked for; never twice at once. */
export interface Recurring {
  /** Does it now, or joins what is under way. Never rejects. */
  now(): Promise<void>;
  start(): void;
  /** Ends it: waits for what is under way, then does it for the last time. */
  stop(): Promise<void>;
}

export interface RecurringParts {
  work(isLast: boolean): Promise<void>;
  everyMs: number;
  /** Told when the work fails after a time that it did not. */
  onProblem(cause: unknown): void;
}

export function createRecurring({ work, everyMs, onProblem }: RecurringParts): Recurring {
  let underWay: Promise<void> | undefined;
  let timer: ReturnType<typeof setInterval> | undefined;
  let hasFailed = false;

  async function once(isLast: boolean): Promise<void> {
    try {
      await work(isLast);
      hasFailed = false;
    } catch (cause) {
      if (!hasFailed) onProblem(cause);
      hasFailed = true;
    }
  }

  function now(isLast = false): Promise<void> {
    underWay ??= once(isLast).finally(() => underWay = undefined);
    return underWay;
  }

  return {
    now: () => now(),
    start() {
      timer ??= setInterval(() => void now(), everyMs);
    },
    async stop() {
      clearInterval(timer);
      timer = undefined;
      await underWay;
      await now(true);
    },
  };
}

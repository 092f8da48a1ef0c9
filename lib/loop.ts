import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { Wait } from "./clock.ts";

/** Background work in bounded steps. */
export interface Loop {
  start(): void;
  /** Ends the pause between two steps. The pause after a failure stays. */
  wake(): void;
  /** Stops the loop; resolves when no step runs any more. */
  stop(): Promise<void>;
}

export interface LoopParts {
  /** Runs one bounded step and returns the pause after it in milliseconds: 0 for none, Infinity to wait for `wake`. */
  step(signal: AbortSignal): Promise<number>;
  wait: Wait;
  /** Called when a step fails after one that succeeded. */
  onProblem(cause: unknown): void;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
/** Timers accept at most 31 bits. */
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

/** Periodic work that may also be requested, never twice at once. */
export interface Recurring {
  /** Runs it now, or joins the run under way. Never rejects. */
  now(): Promise<void>;
  start(): void;
  /** Stops it: waits for the run under way, then runs it one last time. */
  stop(): Promise<void>;
}

export interface RecurringParts {
  work(isLast: boolean): Promise<void>;
  everyMs: number;
  /** Called when a run fails after one that succeeded. */
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

import type { Wait } from "../clock.ts";

/** One part that a shutdown stops. */
export interface StopStep {
  /** For the log, in the plural. */
  name: string;
  stop(): Promise<unknown>;
  /** Most time for the step. */
  boundMs: number;
}

/**
 * Stops one part after another. A part that hangs or fails is reported and skipped, because the next parts still have data to
 * write. Returns whether all parts stopped in time; never rejects.
 */
export async function stopInOrder(
  steps: StopStep[],
  { wait, onProblem }: { wait: Wait; onProblem(message: string, cause?: unknown): void },
): Promise<boolean> {
  let allEnded = true;
  for (const { name, stop, boundMs } of steps) {
    const ended = new AbortController();
    const timeUp = wait(boundMs, ended.signal).then(() => "time is up" as const);
    try {
      if (await Promise.race([Promise.try(stop), timeUp]) !== "time is up") continue;
      onProblem(`${name} did not stop within ${boundMs} ms`);
    } catch (cause) {
      onProblem(`stopping ${name} failed`, cause);
    } finally {
      ended.abort();
    }
    allEnded = false;
  }
  return allEnded;
}

import type { Wait } from "../clock.ts";

/** One thing to be ended on the way down. */
export interface StopStep {
  /** For the log, in the plural. */
  name: string;
  stop(): Promise<unknown>;
  /** How long it may take. */
  boundMs: number;
}

/**
 * Ends one thing after another. One that hangs or fails is told of and left behind: the next still has something to
 * write down. Answers whether all ended well; never rejects.
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
      onProblem(`${name} did not end within ${boundMs} ms and are left behind`);
    } catch (cause) {
      onProblem(`${name} could not be ended well`, cause);
    } finally {
      ended.abort();
    }
    allEnded = false;
  }
  return allEnded;
}

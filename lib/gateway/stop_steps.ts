/** One thing to be ended on the way down. */
export interface StopStep {
  /** For the log: what it is, in the plural or as a mass. */
  name: string;
  stop(): Promise<unknown>;
  /** How long it may take. */
  boundMs: number;
}

/**
 * Ends one thing after another. One that hangs or fails is told of and left behind: the next still has something to
 * write down. Answers whether all ended well; never rejects.
 */
export async function stopInTurn(
  steps: StopStep[],
  onProblem: (message: string, cause?: unknown) => void,
): Promise<boolean> {
  let allEnded = true;
  for (const { name, stop, boundMs } of steps) {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const timeUp = new Promise<string>((resolve) => {
      timer = setTimeout(() => resolve(`${name} did not end within ${boundMs} ms and are left behind`), boundMs);
    });
    try {
      const problem = await Promise.race([Promise.try(stop).then(() => undefined), timeUp]);
      if (problem !== undefined) {
        allEnded = false;
        onProblem(problem);
      }
    } catch (cause) {
      allEnded = false;
      onProblem(`${name} could not be ended well`, cause);
    } finally {
      clearTimeout(timer);
    }
  }
  return allEnded;
}

import process from "node:process";
import { setTimeout } from "node:timers";

const SIGNALS = { SIGINT: 2, SIGTERM: 15 } as const;
export type StopSignal = keyof typeof SIGNALS;

/** What a stopped process waits for, at most, that nobody ended: a connection that a runtime cannot cut. */
const LEAVE_MS = 1_000;

/** The exit code of a process that the signal has ended. */
export function exitCodeOf(signal: StopSignal): number {
  return 128 + SIGNALS[signal];
}

/**
 * Listens from the call on: resolves at the first SIGTERM or SIGINT. A second one ends the process at once, with the
 * exit code of a process that the signal killed, after `onSecond` has said so.
 */
export function untilAskedToStop(onSecond: (signal: StopSignal) => void): Promise<StopSignal> {
  return new Promise((resolve) => {
    let asked = false;
    for (const signal of Object.keys(SIGNALS) as StopSignal[]) {
      process.on(signal, () => {
        if (asked) {
          onSecond(signal);
          process.exit(exitCodeOf(signal));
        }
        asked = true;
        resolve(signal);
      });
    }
  });
}

/** Makes sure that the process ends, with this code, when all that it had to do is done. Answers the code. */
export function leaveSoon(code: number): number {
  setTimeout(() => process.exit(code), LEAVE_MS).unref();
  return code;
}

/**
 * Ends the process now, with this code: for what was left behind and would keep it alive. Lets what was written to
 * standard error go out first.
 */
export async function leaveNow(code: number): Promise<never> {
  await new Promise<void>((resolve) => {
    setTimeout(resolve, LEAVE_MS);
    process.stderr.write("", () => resolve());
  });
  process.exit(code);
}

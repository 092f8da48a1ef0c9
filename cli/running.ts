import process from "node:process";
import { setTimeout } from "node:timers";

const SIGNALS = { SIGINT: 2, SIGTERM: 15 } as const;
export type StopSignal = keyof typeof SIGNALS;

/** How long a stopped process waits for connections that the runtime cannot cut. */
const LEAVE_MS = 1_000;

/** The exit code of a process that this signal ended. */
export function exitCodeOf(signal: StopSignal): number {
  return 128 + SIGNALS[signal];
}

/**
 * Resolves at the first SIGTERM or SIGINT. A second one calls `onSecond` and ends the process at once, with the exit code
 * of a killed process. It listens from the call on.
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

/** Ends the process with this code within a second, even when something keeps it alive. Returns the code. */
export function leaveSoon(code: number): number {
  setTimeout(() => process.exit(code), LEAVE_MS).unref();
  return code;
}

/**
 * Ends the process with this code as soon as standard error is flushed, because unfinished work would keep it alive.
 */
export async function leaveNow(code: number): Promise<never> {
  await new Promise<void>((resolve) => {
    setTimeout(resolve, LEAVE_MS);
    process.stderr.write("", () => resolve());
  });
  process.exit(code);
}

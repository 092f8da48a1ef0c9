import { type Clock, createStepWatch } from "../../clock.ts";
import { LONGEST_DELAY_MS } from "./schedule.ts";

/** Sees to it that nothing is due by a time which the clock, set back since, will say only in weeks. */
export interface DueTimes {
  /** How often the clock has been set back, to be kept beside what is reckoned by it now. */
  readonly stepsBack: number;
  /** What was reckoned when it had been set back so often is in the store now. */
  written(stepsBack: number): void;
  /** What another gateway has kept is due no later than this, Unix ms: soon, where the clock has lately been set back. */
  latestDueAtMs(): number;
  /** Looks at the clock, and brings back what may be due too late. Rejects when the store fails: the next call tries again. */
  mend(): Promise<void>;
}

/** A smaller step makes no retry late by more than that. */
const STEP_WORTH_MENDING_MS = 60_000;
/** By then each gateway has noticed a step of the clock they share, or is dead, and what it kept is another's. */
const LATELY_MS = 600_000;

/** @param options `bringBack`: nothing that is kept is due further ahead than this afterwards, Unix ms */
export function createDueTimes({ clock, bringBack }: {
  clock: Clock;
  bringBack(latestDueAtMs: number): Promise<void>;
}): DueTimes {
  const stepOfClock = createStepWatch(clock);
  let stepsBack = 0;
  let steppedBackAt = -Infinity;
  let isInDoubt = false;

  return {
    get stepsBack() {
      return stepsBack;
    },
    written(before) {
      if (before !== stepsBack) isInDoubt = true;
    },
    latestDueAtMs() {
      const isLately = clock.monotonicMs() - steppedBackAt <= LATELY_MS;
      return clock.now() + (isLately ? STEP_WORTH_MENDING_MS : LONGEST_DELAY_MS);
    },
    async mend() {
      if (stepOfClock() <= -STEP_WORTH_MENDING_MS) {
        stepsBack++;
        steppedBackAt = clock.monotonicMs();
        isInDoubt = true;
      }
      if (!isInDoubt) return;
      // What is written down meanwhile may be due by the former time as well.
      isInDoubt = false;
      try {
        await bringBack(clock.now() + STEP_WORTH_MENDING_MS);
      } catch (cause) {
        isInDoubt = true;
        throw cause;
      }
    },
  };
}

import { setImmediate as othersTurn } from "node:timers/promises";
import type { Store } from "../store/store.ts";

export interface RetentionParts {
  store: Pick<Store, "pruneEvents" | "pruneAttempts" | "purgeDeleted">;
  /** Unix milliseconds. */
  now(): number;
  /** How long events are kept, in days; 0: for ever. */
  historyDays: number;
  /** How long attempts are kept, in days; 0: for ever. */
  attemptDays: number;
}

const DAY_MS = 86_400_000;
/** The most commits of one kind in one round: what is left waits for the next. */
const COMMITS_A_ROUND = 500;

/**
 * One round of forgetting what is older than it has to be kept, in small commits that leave others their turn. What is
 * still owed, and the events it is about, are never touched (`Store`).
 */
export function createRetention({ store, now, historyDays, attemptDays }: RetentionParts): {
  prune(signal: AbortSignal): Promise<void>;
  /** Removes what deleted subscriptions left behind. */
  purge(signal: AbortSignal): Promise<void>;
} {
  /** Repeats a commit while it finds something. */
  async function repeat(signal: AbortSignal, commit: () => Promise<boolean>): Promise<void> {
    for (let count = 0; count < COMMITS_A_ROUND && !signal.aborted; count++) {
      if (!await commit()) return;
      await othersTurn();
    }
  }

  return {
    async prune(signal) {
      if (historyDays > 0) {
        // Written like the events' own times, with which it is compared as text.
        const closedBefore = `${new Date(now() - historyDays * DAY_MS).toISOString().slice(0, 19)}Z`;
        await repeat(signal, async () => await store.pruneEvents(closedBefore) > 0);
      }
      if (attemptDays > 0) {
        const beforeMs = now() - attemptDays * DAY_MS;
        await repeat(signal, async () => await store.pruneAttempts(beforeMs) > 0);
      }
    },
    purge: (signal) => repeat(signal, () => store.purgeDeleted()),
  };
}

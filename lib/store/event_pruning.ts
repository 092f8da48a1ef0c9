import { setImmediate as othersTurn } from "node:timers/promises";

/** Removes what may go of the events after `after`: at most 100, in one commit. */
export type PruneStep = (after: string, closedBefore: string) => Promise<{
  removed: number;
  /** Everything up to here was looked at. */
  upTo: string;
  /** There is nothing more to look at. */
  isEnd: boolean;
}>;

/**
 * `Store.pruneEvents` out of bounded steps. A call goes on where the last one stopped, so that what is needed at the
 * front of a long history is not looked at again and again; at the end the next one begins anew.
 */
export function createEventPruner(step: PruneStep): (closedBefore: string) => Promise<number> {
  let lookedUpTo = "";

  return async (closedBefore) => {
    for (;;) {
      const { removed, upTo, isEnd } = await step(lookedUpTo, closedBefore);
      lookedUpTo = isEnd && removed === 0 ? "" : upTo;
      if (removed > 0 || isEnd) return removed;
      await othersTurn();
    }
  };
}

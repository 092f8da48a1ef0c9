import type { LedgerView } from "../../stellar/ledger/ledger_view.ts";
import type { AsOf } from "./read_source.ts";

export interface HeldAnswers<T> {
  /** The answer held under `key`, at once; else what `ask` finds, joined by whoever asks meanwhile. */
  get(key: string, ask: () => AsOf<T> | Promise<AsOf<T>>): T | Promise<T>;
}

const MOST_HELD = 50_000;

/** Answers that hold until the next ledger is seen, or for `maxAgeMs`. Failures are not held. */
export function createHeldAnswers<T>(
  { view, now, maxAgeMs }: { view: LedgerView; now: () => number; maxAgeMs: number },
): HeldAnswers<T> {
  const held = new Map<string, { value: T; heldSinceMs: number }>();
  const asked = new Map<string, Promise<T>>();
  view.onNews(() => {
    held.clear();
    // What was asked before may be true of the ledger before: later callers ask anew.
    asked.clear();
  });

  function keep(key: string, { ledger, value }: AsOf<T>): T {
    if (ledger === view.sequence) {
      if (held.size >= MOST_HELD) held.delete(held.keys().next().value!);
      held.set(key, { value, heldSinceMs: now() });
    }
    return value;
  }

  return {
    get(key, ask) {
      const found = held.get(key);
      if (found !== undefined && now() - found.heldSinceMs <= maxAgeMs) return found.value;
      const joined = asked.get(key);
      if (joined !== undefined) return joined;
      const answer = ask();
      if (!(answer instanceof Promise)) return keep(key, answer);
      const own: Promise<T> = answer.then((one) => keep(key, one)).finally(() => {
        if (asked.get(key) === own) asked.delete(key);
      });
      asked.set(key, own);
      return own;
    },
  };
}

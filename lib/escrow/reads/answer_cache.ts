import type { LedgerView } from "../../stellar/ledger/ledger_view.ts";
import type { AsOf } from "./read_source.ts";

export interface AnswerCache<T> {
  /** The answer cached under `key`, at once; else what `ask` finds, joined by whoever asks meanwhile. */
  get(key: string, ask: () => AsOf<T> | Promise<AsOf<T>>): T | Promise<T>;
}

const MOST_CACHED = 50_000;

/** Answers that hold until the next ledger is seen, or for `maxAgeMs`. Failures are not cached. */
export function createAnswerCache<T>(
  { view, now, maxAgeMs }: { view: LedgerView; now: () => number; maxAgeMs: number },
): AnswerCache<T> {
  const cached = new Map<string, { value: T; cachedAtMs: number }>();
  const asked = new Map<string, Promise<T>>();
  view.onNews(() => {
    cached.clear();
    // What was asked before may be true of the ledger before: later callers ask anew.
    asked.clear();
  });

  /** An answer that was the first to speak of a ledger may be wrong, and of the one before: `known` was, when it was asked. */
  function keep(key: string, { ledger, value }: AsOf<T>, known: number): T {
    if (ledger === view.sequence && ledger === known) {
      if (cached.size >= MOST_CACHED) cached.delete(cached.keys().next().value!);
      cached.set(key, { value, cachedAtMs: now() });
    }
    return value;
  }

  return {
    get(key, ask) {
      const found = cached.get(key);
      if (found !== undefined && now() - found.cachedAtMs <= maxAgeMs) return found.value;
      const joined = asked.get(key);
      if (joined !== undefined) return joined;
      const known = view.sequence;
      const answer = ask();
      if (!(answer instanceof Promise)) return keep(key, answer, known);
      const own: Promise<T> = answer.then((one) => keep(key, one, known)).finally(() => {
        if (asked.get(key) === own) asked.delete(key);
      });
      asked.set(key, own);
      return own;
    },
  };
}

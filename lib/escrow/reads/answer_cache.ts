import type { LedgerView } from "../../stellar/ledger/ledger_view.ts";
import type { AsOf } from "./read_source.ts";

export interface AnswerCache<T> {
  /** The answer cached under `key`, at once; else what `ask` finds, joined by whoever asks meanwhile, and not too late. */
  get(key: string, ask: () => AsOf<T> | Promise<AsOf<T>>): T | Promise<T>;
}

const MOST_CACHED = 50_000;

/** Answers that hold until the next ledger is seen, or for `maxAgeMs` after they were asked for. Failures are not cached. */
export function createAnswerCache<T>(
  { view, now, maxAgeMs }: { view: LedgerView; now: () => number; maxAgeMs: number },
): AnswerCache<T> {
  const cached = new Map<string, { value: T; askedAtMs: number }>();
  const asked = new Map<string, { answer: Promise<T>; askedAtMs: number }>();
  view.onNews(() => {
    cached.clear();
    // What was asked before may be true of the ledger before: later callers ask anew.
    asked.clear();
  });

  /** An answer that was the first to speak of a ledger may be wrong, and of the one before: `known` was, when it was asked. */
  function keep(key: string, { ledger, value }: AsOf<T>, known: number, askedAtMs: number): T {
    if (ledger === view.sequence && ledger === known) {
      if (cached.size >= MOST_CACHED) cached.delete(cached.keys().next().value!);
      cached.set(key, { value, askedAtMs });
    }
    return value;
  }

  return {
    get(key, ask) {
      const nowMs = now();
      // What is known here is as of the believed ledger: of no use to who may have been shown a newer one.
      const isOld = view.shownSequence > view.sequence;
      const found = cached.get(key);
      if (found !== undefined && !isOld && nowMs - found.askedAtMs <= maxAgeMs) return found.value;
      const joined = asked.get(key);
      if (joined !== undefined && !isOld && nowMs - joined.askedAtMs <= maxAgeMs) return joined.answer;
      const known = view.sequence;
      const answer = ask();
      if (!(answer instanceof Promise)) return keep(key, answer, known, nowMs);
      const own = { answer: answer.then((one) => keep(key, one, known, nowMs)), askedAtMs: nowMs };
      own.answer = own.answer.finally(() => {
        if (asked.get(key) === own) asked.delete(key);
      });
      asked.set(key, own);
      return own.answer;
    },
  };
}

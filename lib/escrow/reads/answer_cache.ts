import type { Head } from "../../stellar/head.ts";
import type { AsOf } from "./read_source.ts";

export interface AnswerCache<T> {
  /** The cached answer, without a promise. Else the answer of `ask`, which concurrent callers share until `maxAgeMs`. */
  get(key: string, ask: () => AsOf<T> | Promise<AsOf<T>>): T | Promise<T>;
}

const MOST_CACHED = 50_000;

/** Caches answers until the head changes, at most `maxAgeMs` after their request. Does not cache failures. */
export function createAnswerCache<T>(
  { head, now, maxAgeMs }: { head: Pick<Head, "sequence" | "onChange">; now: () => number; maxAgeMs: number },
): AnswerCache<T> {
  const cached = new Map<string, { value: T; askedAtMs: number }>();
  const asked = new Map<string, { answer: Promise<T>; askedAtMs: number }>();
  head.onChange(() => {
    cached.clear();
    // A pending answer may show the ledger before, so later callers do not share it.
    asked.clear();
  });

  function keep(key: string, { ledger, value }: AsOf<T>, askedAtMs: number): T {
    // An answer of an older ledger is returned, but not cached.
    if (ledger === head.sequence) {
      if (cached.size >= MOST_CACHED) cached.delete(cached.keys().next().value!);
      cached.set(key, { value, askedAtMs });
    }
    return value;
  }

  return {
    get(key, ask) {
      const nowMs = now();
      const found = cached.get(key);
      if (found !== undefined && nowMs - found.askedAtMs <= maxAgeMs) return found.value;
      const joined = asked.get(key);
      if (joined !== undefined && nowMs - joined.askedAtMs <= maxAgeMs) return joined.answer;
      const answer = ask();
      if (!(answer instanceof Promise)) return keep(key, answer, nowMs);
      const own = { answer: answer.then((one) => keep(key, one, nowMs)), askedAtMs: nowMs };
      own.answer = own.answer.finally(() => {
        if (asked.get(key) === own) asked.delete(key);
      });
      asked.set(key, own);
      return own.answer;
    },
  };
}

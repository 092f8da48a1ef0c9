import type { Head } from "../../stellar/head.ts";
import type { AsOf } from "./read_source.ts";

export interface AnswerCache<T> {
  /** The cached answer of `key`, at once; else the result of `ask`, shared by concurrent callers. */
  get(key: string, ask: () => AsOf<T> | Promise<AsOf<T>>): T | Promise<T>;
}

const MOST_CACHED = 50_000;

/** Answers that hold until the head changes, or for `maxAgeMs` after they were asked for. Failures are not cached. */
export function createAnswerCache<T>(
  { head, now, maxAgeMs }: { head: Pick<Head, "sequence" | "onChange">; now: () => number; maxAgeMs: number },
): AnswerCache<T> {
  const cached = new Map<string, { value: T; askedAtMs: number }>();
  const asked = new Map<string, { answer: Promise<T>; askedAtMs: number }>();
  head.onChange(() => {
    cached.clear();
    // An earlier answer may be of the ledger before, so later callers ask the node.
    asked.clear();
  });

  function keep(key: string, { ledger, value }: AsOf<T>, askedAtMs: number): T {
    // An answer as of an older ledger is shown, and not kept.
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

import type { Wait } from "../clock.ts";

/** Twice this, and the second that payments are looked at, is half of the ten that Prometheus waits by itself. */
const STORE_MS = 2_000;

/**
 * Bounds what a scrape waits for where the store is slow, or stands still: the gateway's own figures are told all the same.
 * What is asked rejects when it takes too long; with `orLast` it is answered as it was the last time, if it ever was, so
 * that what takes a minute to count does not come and go.
 */
export function inTime<T>(wait: Wait, ask: () => Promise<T>, { orLast = false } = {}): () => Promise<T> {
  let last: { is: T } | undefined;
  return async () => {
    const answered = new AbortController();
    const late = wait(STORE_MS, answered.signal).then(() => orLast ? last : undefined);
    const asked = ask().then((is) => last = { is });
    const found = await Promise.race([asked, late]).finally(() => answered.abort());
    if (found === undefined) throw new Error(`the store has not answered within ${STORE_MS} ms`);
    return found.is;
  };
}

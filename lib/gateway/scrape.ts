import type { Wait } from "../clock.ts";

/** Twice this, and one second for the payments, is half of Prometheus' default timeout of 10 s. */
const STORE_MS = 2_000;

/**
 * Bounds how long a scrape waits for a slow store, so that the scrape returns the gateway's own values in time. A read that takes
 * too long rejects. With `orLast` it returns its last value instead, if there is one, so a slow count does not come and go.
 */
export function inTime<T>(wait: Wait, read: () => Promise<T>, { orLast = false } = {}): () => Promise<T> {
  let last: { is: T } | undefined;
  return async () => {
    const answered = new AbortController();
    const timeout = wait(STORE_MS, answered.signal).then(() => orLast ? last : undefined);
    const value = read().then((is) => last = { is });
    const found = await Promise.race([value, timeout]).finally(() => answered.abort());
    if (found === undefined) throw new Error(`the store did not answer within ${STORE_MS} ms`);
    return found.is;
  };
}

import type { Clock } from "../clock.ts";
import type { Store } from "./store.ts";

/** A clock that several gateways have in common. */
export interface StoreClock {
  clock: Clock;
  /** Reads the store's time again. Never rejects: after a failure the clock goes on as before. */
  look(): Promise<void>;
}

/** A slow answer may put the time off by this much. */
const LATE_MS = 1_000;

/**
 * The clock for due times of retries, and for the ends of secrets and keys. Gateways that share a store use the store's
 * clock, so a clock step of one machine ends nothing early or late. A gateway with a store of its own uses its own clock.
 */
export async function openStoreClock(
  { sharedState, isShared }: Pick<Store, "sharedState" | "isShared">,
  own: Clock,
): Promise<StoreClock> {
  /** The store's time less the monotonic time. Undefined: not read yet, or the store has no clock of its own. */
  let aheadMs: number | undefined;
  let asked = 0;
  /** Of the answered requests, the one that was sent last. */
  let newest = 0;

  async function look(): Promise<void> {
    if (!isShared) return;
    const nth = ++asked;
    try {
      const askedAtMs = own.monotonicMs();
      const storeMs = await sharedState.change("time", (_, nowMs) => ({ keepMs: 0, answer: nowMs }));
      // A later request was answered sooner. The store's clock may have been set in between.
      if (nth < newest) return;
      newest = nth;
      // The store read its clock at some moment on the way. A slow answer is imprecise, and does not set the time back.
      const [leastMs, mostMs] = [storeMs - own.monotonicMs(), storeMs - askedAtMs];
      const isLate = mostMs - leastMs >= LATE_MS;
      aheadMs = isLate ? Math.min(Math.max(aheadMs ?? leastMs, leastMs), mostMs) : leastMs;
    } catch {
      // Other calls report that the store fails.
    }
  }

  await look();
  const now = () => aheadMs === undefined ? own.now() : Math.round(own.monotonicMs() + aheadMs);
  return { clock: { ...own, now }, look };
}

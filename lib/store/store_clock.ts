import type { Clock } from "../clock.ts";
import type { Store } from "./store.ts";

/** A clock that several gateways have in common. */
export interface StoreClock {
  clock: Clock;
  /** Learns the store's time anew. Never rejects: what cannot be learnt stays as it was. */
  look(): Promise<void>;
}

/** So much the time may be wrong by how long an answer took. */
const LATE_MS = 1_000;

/**
 * The clock by which retries are due, and secrets and keys end: the store's where several gateways share it, so that a step of one machine's
 * clock ends nothing early or late, and this machine's where it has the store for itself.
 */
export async function openStoreClock(
  { sharedState, isShared }: Pick<Store, "sharedState" | "isShared">,
  own: Clock,
): Promise<StoreClock> {
  /** The store's time is the monotonic one plus this. Undefined: not learnt yet, or the store has none of its own. */
  let aheadMs: number | undefined;
  let asked = 0;
  /** Of the looks that were answered, the one that was asked last. */
  let newest = 0;

  async function look(): Promise<void> {
    if (!isShared) return;
    const nth = ++asked;
    try {
      const askedAtMs = own.monotonicMs();
      const storeMs = await sharedState.change("time", (_, nowMs) => ({ keepMs: 0, answer: nowMs }));
      // One that was asked later was answered sooner: the store's clock may have been set in between.
      if (nth < newest) return;
      newest = nth;
      // It was so late at some moment on the way: an answer that took long says little, and does not set the time back.
      const [leastMs, mostMs] = [storeMs - own.monotonicMs(), storeMs - askedAtMs];
      const isLate = mostMs - leastMs >= LATE_MS;
      aheadMs = isLate ? Math.min(Math.max(aheadMs ?? leastMs, leastMs), mostMs) : leastMs;
    } catch {
      // A store that fails is told of by whoever needs it for more than its time.
    }
  }

  await look();
  const now = () => aheadMs === undefined ? own.now() : Math.round(own.monotonicMs() + aheadMs);
  return { clock: { ...own, now }, look };
}

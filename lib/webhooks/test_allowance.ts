import { GatewayError } from "../errors.ts";
import type { Store } from "../store/store.ts";

/** Test events of one subscription in a minute, over all gateways. */
const TESTS = 6;
const WINDOW_MS = 60_000;

/**
 * Counts a test event of a subscription, in the store.
 * @throws {GatewayError} `rate_limited` when the subscription had its tests of this minute
 */
export async function takeTest({ registers }: Pick<Store, "registers">, subscriptionId: string): Promise<void> {
  const waitMs = await registers.change(`test/${subscriptionId}`, (testedAtMs: number[] | undefined, nowMs) => {
    // A time that lies ahead is of a clock that was set back since.
    const times = (testedAtMs ?? []).filter((atMs) => atMs > nowMs - WINDOW_MS && atMs <= nowMs);
    const isFree = times.length < TESTS;
    return {
      value: isFree ? [...times, nowMs] : undefined,
      keepMs: WINDOW_MS,
      answer: isFree ? 0 : times[0]! + WINDOW_MS - nowMs,
    };
  });
  if (waitMs === 0) return;
  throw new GatewayError("rate_limited", `a webhook is tested at most ${TESTS} times a minute`, {
    headers: { "Retry-After": String(Math.ceil(waitMs / 1000)) },
  });
}

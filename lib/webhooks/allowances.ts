import { GatewayError } from "../errors.ts";
import type { Store } from "../store/store.ts";

/** Test events per subscription and minute, over all gateways. */
export const MAX_TESTS = 6;
/** Events that the replays of one API key may read per day, over all gateways. */
export const MAX_REPLAYED = 1_000_000;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

type SharedState = Pick<Store, "sharedState">;

/**
 * Counts a test event of a subscription.
 * @throws {GatewayError} `rate_limited` when the subscription has used its tests of this minute
 */
export function takeTest(store: SharedState, subscriptionId: string): Promise<void> {
  const message = `a webhook is tested at most ${MAX_TESTS} times a minute`;
  return take(store, `test/${subscriptionId}`, 1, { most: MAX_TESTS, windowMs: MINUTE_MS, stepMs: 1, message });
}

/**
 * Counts a replay of so many events. While anything is left of the day's allowance, it may be of any size.
 * @throws {GatewayError} `rate_limited` when nothing is left; then nothing is counted
 */
export function takeReplay(store: SharedState, keyId: string, events: number): Promise<void> {
  const message =
    `replays of this API key have read ${MAX_REPLAYED} events in a day, their limit; start the next one later`;
  const limit = { most: MAX_REPLAYED, windowMs: DAY_MS, stepMs: HOUR_MS, message };
  return take(store, `replayed/${keyId}`, events, limit);
}

interface Limit {
  most: number;
  windowMs: number;
  /** Uses within one step count as one, at its start. */
  stepMs: number;
  message: string;
}

/** Uses by the time of their step, Unix ms. */
type Uses = { atMs: number; count: number }[];

async function take({ sharedState }: SharedState, name: string, count: number, limit: Limit): Promise<void> {
  const { most, windowMs, stepMs } = limit;
  const waitMs = await sharedState.change(name, (before: Uses | undefined = [], nowMs) => {
    const atMs = nowMs - nowMs % stepMs;
    // A later time is from before the clock was set back.
    const uses = before.filter((one) => one.atMs > nowMs - windowMs && one.atMs <= nowMs);
    let left = most - uses.reduce((sum, one) => sum + one.count, 0);
    const freedBy = left > 0 ? undefined : uses.find((one) => (left += one.count) > 0)!;
    if (freedBy !== undefined) {
      return { value: undefined, keepMs: windowMs, answer: freedBy.atMs + windowMs - nowMs };
    }
    const [now, others] = [uses.find((one) => one.atMs === atMs), uses.filter((one) => one.atMs !== atMs)];
    return { value: [...others, { atMs, count: count + (now?.count ?? 0) }], keepMs: windowMs, answer: 0 };
  });
  if (waitMs === 0) return;
  const headers = { "Retry-After": String(Math.ceil(waitMs / 1_000)) };
  throw new GatewayError("rate_limited", limit.message, { headers });
}

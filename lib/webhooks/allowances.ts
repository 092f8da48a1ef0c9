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
export async function takeTest(store: SharedState, subscriptionId: string): Promise<void> {
  const message = `a webhook is tested at most ${MAX_TESTS} times a minute`;
  await take(store, `test/${subscriptionId}`, 1, { most: MAX_TESTS, windowMs: MINUTE_MS, stepMs: 1, message });
}

/**
 * Counts a replay of so many events. While anything is left of the day's allowance, it may be of any size. Returns when it
 * counts, Unix ms.
 * @throws {GatewayError} `rate_limited` when nothing is left; then nothing is counted
 */
export function takeReplay(store: SharedState, keyId: string, events: number): Promise<number> {
  const message =
    `replays of this API key have read ${MAX_REPLAYED} events in a day, their limit; start the next one later`;
  const limit = { most: MAX_REPLAYED, windowMs: DAY_MS, stepMs: HOUR_MS, message };
  return take(store, `replayed/${keyId}`, events, limit);
}

/** Returns the events of a replay that did not start. @param takenMs as `takeReplay` returned it */
export async function giveReplayBack(
  { sharedState }: SharedState,
  keyId: string,
  events: number,
  takenMs: number,
): Promise<void> {
  await sharedState.change(`replayed/${keyId}`, (uses: Uses = []) => {
    const value = uses.map((one) => one.atMs === takenMs ? { ...one, count: one.count - events } : one);
    return { value, keepMs: DAY_MS, answer: undefined };
  });
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

async function take({ sharedState }: SharedState, name: string, count: number, limit: Limit): Promise<number> {
  const { most, windowMs, stepMs } = limit;
  const { atMs, waitMs } = await sharedState.change(name, (before: Uses | undefined = [], nowMs) => {
    const atMs = nowMs - nowMs % stepMs;
    // A later time is from before the clock was set back.
    const uses = before.filter((one) => one.atMs > nowMs - windowMs && one.atMs <= nowMs);
    let left = most - uses.reduce((sum, one) => sum + one.count, 0);
    const freedBy = left > 0 ? undefined : uses.find((one) => (left += one.count) > 0)!;
    if (freedBy !== undefined) {
      return { value: undefined, keepMs: windowMs, answer: { atMs, waitMs: freedBy.atMs + windowMs - nowMs } };
    }
    const [now, others] = [uses.find((one) => one.atMs === atMs), uses.filter((one) => one.atMs !== atMs)];
    const value = [...others, { atMs, count: count + (now?.count ?? 0) }];
    return { value, keepMs: windowMs, answer: { atMs, waitMs: 0 } };
  });
  if (waitMs === 0) return atMs;
  const headers = { "Retry-After": String(Math.ceil(waitMs / 1_000)) };
  throw new GatewayError("rate_limited", limit.message, { headers });
}

import { GatewayError } from "../errors.ts";
import type { Store } from "../store/store.ts";

/** Test events per subscription and minute, over all gateways. */
export const MAX_TESTS = 6;
const WINDOW_MS = 60_000;

/**
 * Counts a test event of a subscription, in the store.
 * @throws {GatewayError} `rate_limited` when the subscription has used its tests of this minute
 */
export async function takeTest({ sharedState }: Pick<Store, "sharedState">, subscriptionId: string): Promise<void> {
  const waitMs = await sharedState.change(`test/${subscriptionId}`, (testedAtMs: number[] | undefined, nowMs) => {
    // A later time is from before the clock was set back.
    const times = (testedAtMs ?? []).filter((atMs) => atMs > nowMs - WINDOW_MS && atMs <= nowMs);
    const isFree = times.length < MAX_TESTS;
    return {
      value: isFree ? [...times, nowMs] : undefined,
      keepMs: WINDOW_MS,
      answer: isFree ? 0 : times[0]! + WINDOW_MS - nowMs,
    };
  });
  if (waitMs === 0) return;
  throw new GatewayError("rate_limited", `a webhook is tested at most ${MAX_TESTS} times a minute`, {
    headers: { "Retry-After": String(Math.ceil(waitMs / 1000)) },
  });
}

/** Events that the replays of one API key may read per day, over all gateways. */
export const MAX_REPLAYED = 1_000_000;
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** Events of replays by the hour of their start, Unix ms. */
type Replayed = { hourMs: number; events: number }[];

export interface ReplayAllowance {
  /**
   * Counts a replay of so many events before it starts. While anything is left of the day's allowance, it may be of any
   * size. Returns the hour in which it counts, Unix ms.
   * @throws {GatewayError} `rate_limited` when nothing is left; then nothing is counted
   */
  take(keyId: string, events: number): Promise<number>;
  /** Returns events of a replay that did not start. */
  giveBack(keyId: string, events: number, hourMs: number): Promise<void>;
}

/** The allowance for replays of an API key, stored in the store. */
export function createReplayAllowance({ sharedState }: Pick<Store, "sharedState">): ReplayAllowance {
  const nameOf = (keyId: string) => `replayed/${keyId}`;

  return {
    async take(keyId, events) {
      const { hourMs, waitMs } = await sharedState.change(nameOf(keyId), (replayed: Replayed | undefined, nowMs) => {
        const hourMs = nowMs - nowMs % HOUR_MS;
        const today = ofToday(replayed, nowMs);
        let left = MAX_REPLAYED - today.reduce((sum, { events }) => sum + events, 0);
        const freedBy = left > 0 ? undefined : today.find(({ events }) => (left += events) > 0)!;
        return {
          value: freedBy === undefined ? counted(today, events, hourMs) : undefined,
          keepMs: DAY_MS,
          answer: { hourMs, waitMs: freedBy === undefined ? 0 : freedBy.hourMs + DAY_MS - nowMs },
        };
      });
      if (waitMs === 0) return hourMs;
      const message =
        `replays of this API key have read ${MAX_REPLAYED} events in a day, their limit; start the next one later`;
      throw new GatewayError("rate_limited", message, {
        headers: { "Retry-After": String(Math.ceil(waitMs / 1_000)) },
      });
    },
    giveBack: (keyId, events, hourMs) =>
      sharedState.change(nameOf(keyId), (replayed: Replayed | undefined, nowMs) => {
        const value = ofToday(replayed, nowMs)
          .map((one) => one.hourMs === hourMs ? { hourMs, events: one.events - events } : one);
        return { value, keepMs: DAY_MS, answer: undefined };
      }),
  };
}

/** The entries of the last day. A later time is from before the clock was set back. */
function ofToday(replayed: Replayed = [], nowMs: number): Replayed {
  return replayed.filter(({ hourMs }) => hourMs > nowMs - DAY_MS && hourMs <= nowMs);
}

/** Adds events to this hour. */
function counted(today: Replayed, events: number, hourMs: number): Replayed {
  const before = today.filter((one) => one.hourMs !== hourMs);
  const now = today.find((one) => one.hourMs === hourMs)?.events ?? 0;
  return [...before, { hourMs, events: now + events }];
}

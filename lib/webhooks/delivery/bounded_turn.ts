import type { Wait } from "../../clock.ts";
import type { Store } from "../../store/store.ts";
import type { Courier } from "./courier.ts";
import type { FanOut } from "./fan_out.ts";
import type { ReplayRound } from "../replays/replayer.ts";

export interface BoundedTurnParts {
  store: Pick<Store, "nextDueAtMs">;
  fanOut: FanOut;
  replayRound: () => Promise<ReplayRound>;
  /** One that has not been started: its life is this turn. */
  courier: Courier;
  /** Unix milliseconds. */
  now(): number;
  wait: Wait;
}

export interface TurnBound {
  /** Nothing more is begun from then on, Unix ms. */
  untilMs: number;
  /** How long posts under way then may take to end. */
  drainMs: number;
}

/** How often it is looked whether anything is left to do. */
const LOOK_MS = 100;

/**
 * Hands events to webhooks and delivers until nothing is due before the end of the turn, or until that: for places that
 * wake a program now and then instead of keeping it. Rejects with what the store rejected with.
 */
export async function runBoundedTurn(parts: BoundedTurnParts, { untilMs, drainMs }: TurnBound): Promise<void> {
  const { store, fanOut, replayRound, courier, now, wait } = parts;
  const never = new AbortController().signal;
  courier.start();
  try {
    while (now() < untilMs) {
      const hasMore = await fanOut.step(never);
      const replays = await replayRound();
      if (hasMore || replays === "moved") continue;
      const dueAtMs = await store.nextDueAtMs() ?? Infinity;
      // Asked after the store: a lease that it shows as taken has been seen by the courier by now.
      if (replays === "idle" && courier.isIdle && dueAtMs >= untilMs) break;
      await wait(LOOK_MS, never);
    }
    await fanOut.save();
  } finally {
    await courier.stop({ drainMs });
  }
}

import type { Clock } from "../clock.ts";
import { type HeadState, LIMITS } from "./observe.ts";

/** A network that has closed no ledger so long after its first answer rests. */
const REST_MS = 8_000;

/**
 * The network's time: envelopes' bounds, ages of what is on the chain. By the newest ledger that has a close time, once a
 * ledger was seen to close since the start. Before that by our own clock, where the two agree.
 */
export interface NetworkTime {
  /** Takes in what a node answered. */
  learn(timed: HeadState["timed"]): void;
  /** The network is another one, or was taken back. */
  restart(): void;
  /** Unix seconds. */
  seconds(timed: HeadState["timed"]): number;
  /** Whether `seconds` can be relied on: for up to 8 s after the first answer it cannot, where our own clock disagrees. */
  isCertain(timed: HeadState["timed"]): boolean;
}

export function createNetworkTime({ now, monotonicMs }: Pick<Clock, "now" | "monotonicMs">): NetworkTime {
  /** The newest ledger in the first answer since the start, and when it came. */
  let first: { sequence: number; atMs: number } | undefined;
  let isMoving = false;

  const byLedgers = ({ closeTime, atMs }: NonNullable<HeadState["timed"]>) =>
    closeTime + (monotonicMs() - atMs) / 1_000;

  function agrees(timed: NonNullable<HeadState["timed"]>): boolean {
    return Math.abs(byLedgers(timed) - now() / 1_000) <= LIMITS.aheadSeconds;
  }

  return {
    learn(timed) {
      if (timed === undefined) return;
      if (first !== undefined && timed.sequence > first.sequence) isMoving = true;
      if (first === undefined || timed.sequence < first.sequence) {
        first = { sequence: timed.sequence, atMs: first?.atMs ?? monotonicMs() };
      }
    },
    restart() {
      first = undefined;
      isMoving = false;
    },
    seconds(timed) {
      const wall = now() / 1_000;
      if (timed === undefined) return Math.floor(wall);
      if (isMoving) return Math.floor(byLedgers(timed));
      return Math.floor(agrees(timed) ? wall : Math.max(wall, byLedgers(timed)));
    },
    isCertain(timed) {
      if (first === undefined || timed === undefined) return false;
      return isMoving || agrees(timed) || monotonicMs() - first.atMs >= REST_MS;
    },
  };
}

import type { Clock } from "../clock.ts";
import { type HeadState, LIMITS } from "./observe.ts";

/** A network rests when it is asked so long after its first answer, and after the last lagging one, and has closed none. */
const REST_MS = 8_000;

/**
 * The network's time: envelopes' bounds, ages of what is on the chain. By the newest ledger that has a close time, once a
 * ledger was seen to close since the start. Before that by our own clock, where the two agree.
 */
export interface NetworkTime {
  /** Takes in what a node answered, which may be a lagging one. */
  learn(timed: HeadState["timed"], isLagging: boolean): void;
  /** A question that was sent then (monotonic ms) was answered. */
  asked(atMs: number): void;
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
  let laggedAtMs = -Infinity;
  let askedAtMs = -Infinity;

  const byLedgers = ({ closeTime, atMs }: NonNullable<HeadState["timed"]>) =>
    closeTime + (monotonicMs() - atMs) / 1_000;

  function agrees(timed: NonNullable<HeadState["timed"]>): boolean {
    return Math.abs(byLedgers(timed) - now() / 1_000) <= LIMITS.aheadSeconds;
  }

  return {
    learn(timed, isLagging) {
      if (isLagging) laggedAtMs = monotonicMs();
      if (timed === undefined) return;
      if (first !== undefined && timed.sequence > first.sequence) isMoving = true;
      if (first === undefined || timed.sequence < first.sequence) {
        first = { sequence: timed.sequence, atMs: first?.atMs ?? monotonicMs() };
      }
    },
    asked(atMs) {
      askedAtMs = atMs;
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
      // Not by the time that has passed: a process that stood still has asked nobody.
      return isMoving || agrees(timed) || askedAtMs - Math.max(first.atMs, laggedAtMs) >= REST_MS;
    },
  };
}

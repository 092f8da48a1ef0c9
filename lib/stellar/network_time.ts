/*
 * Decides what time it is on the network, and whether that is certain. `head.ts` holds it; envelopes' bounds and ages
 * of entries depend on it.
 */

import type { Clock } from "../clock.ts";
import { type HeadState, LIMITS } from "./observe.ts";

/** The network rests when it has closed no ledger for this long after its first and its last lagging answer. */
const REST_MS = 8_000;

/**
 * The close time of the newest ledger, plus monotonic time since. This holds once a node has shown a new ledger since
 * the start. Before that it is our own clock if the two agree, else the later of both.
 */
export interface NetworkTime {
  /** Takes the newest timed ledger after an answer, which may be a lagging one. */
  learn(timed: HeadState["timed"], isLagging: boolean): void;
  /** Records that a node answered a request sent at this time (monotonic ms). */
  asked(atMs: number): void;
  /** Forgets what was learnt: a new epoch began, or a sandbox reverted. */
  restart(): void;
  /** Unix seconds. */
  seconds(timed: HeadState["timed"]): number;
  /** False for up to 8 s after the first answer while our own clock disagrees. */
  isCertain(timed: HeadState["timed"]): boolean;
}

export function createNetworkTime({ now, monotonicMs }: Pick<Clock, "now" | "monotonicMs">): NetworkTime {
  /** The newest ledger of the first answer since the start, and when that arrived. */
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
      // Not by elapsed time: a process that was suspended has asked no node.
      return isMoving || agrees(timed) || askedAtMs - Math.max(first.atMs, laggedAtMs) >= REST_MS;
    },
  };
}

/*
 * Decides what one answer of a node means for the head: newer, current, lagging or odd. Pure: no network and no clock
 * of its own. `head.ts` holds the state. `reset.ts` rules out a reset before a second odd answer becomes the head.
 */

import { MAX_LEDGER } from "../ledger_numbers.ts";

/** The newest ledger of a node, as one answer reports it. */
export interface Answer {
  sequence: number;
  /** Unix seconds; absent or 0 when the answer has no close time. */
  closeTime?: number;
}

/** An answer, and when it arrived (monotonic ms). */
export interface Seen extends Answer {
  atMs: number;
}

/**
 * `newer`: becomes the head. `current`: shows the head. `lagging`: shows an older ledger. `odd`: fits none of these. An
 * odd answer changes nothing until a second one fits it and the reset check has ruled out a reset.
 */
export type Verdict = "newer" | "current" | "lagging" | "odd";

export interface HeadState {
  /** `atMs`: when a node last showed it. */
  head?: Seen;
  /** The newest ledger whose close time is known. `atMs`: when a node first showed it. */
  timed?: Seen & { closeTime: number };
  /** The newest lagging answer since a node last showed the head, and when the first of them arrived. */
  lagging?: { newest: Seen; sinceMs: number };
  /** The first odd answer. Later ones are compared with it. */
  odd?: Seen;
}

export interface Now {
  monotonicMs: number;
  /** Our wall clock, Unix seconds. */
  wallSeconds: number;
  /** When the last comparison that ruled out a reset began (monotonic ms). */
  sameAtMs: number;
}

export const LIMITS = {
  /** How many ledgers may close at any time, and how many more per second. */
  ledgers: 1_000,
  ledgersPerSecond: 200,
  /** How far a close time may be ahead of network time or our clock. */
  aheadSeconds: 60,
  /** How much later a second odd answer has to arrive. */
  oddMs: 2_000,
  /** The head falls after lagging answers alone for this long. */
  laggingMs: 30_000,
} as const;

/** Returns the verdict on an answer, and the next state. */
export function observe(state: HeadState, answer: Answer, now: Now): { state: HeadState; verdict: Verdict } {
  const seen: Seen = { sequence: answer.sequence, closeTime: answer.closeTime || undefined, atMs: now.monotonicMs };
  const verdict = judge(state, seen, now);
  if (verdict === "odd") return afterOdd(state, seen, now);
  if (verdict === "lagging") return afterLagging(state, seen, now);
  return { verdict, state: { head: seen, timed: newestTimed(state.timed, seen) } };
}

function judge({ head, timed }: HeadState, seen: Seen, now: Now): Verdict {
  if (head === undefined) return "odd";
  if (seen.sequence > head.sequence) return isPlausibleAfter(head, seen, now, timed) ? "newer" : "odd";
  if (!fitsTime(timed, seen, now)) return "odd";
  return seen.sequence === head.sequence ? "current" : "lagging";
}

/**
 * Whether a node of the same network can give the answer `seen` after the answer `before`.
 * @param timed the ledger whose close time is compared
 */
export function isPlausibleAfter(
  before: Seen,
  seen: Seen,
  now: Omit<Now, "sameAtMs">,
  timed = timedOf(before),
): boolean {
  if (seen.sequence < before.sequence || seen.sequence > MAX_LEDGER) return false;
  const passed = (now.monotonicMs - before.atMs) / 1_000;
  const between = timed === undefined ? 0 : (seen.closeTime ?? 0) - timed.closeTime;
  const most = before.sequence + LIMITS.ledgers + LIMITS.ledgersPerSecond * Math.max(passed, between);
  return seen.sequence <= most && fitsTime(timed, seen, now);
}

/** Close times never fall from one ledger to the next, and none lies in the future. */
function fitsTime(timed: HeadState["timed"], seen: Seen, now: Omit<Now, "sameAtMs">): boolean {
  if (seen.closeTime === undefined) return true;
  if (timed === undefined) return seen.closeTime <= now.wallSeconds + LIMITS.aheadSeconds;
  if (seen.sequence < timed.sequence) return seen.closeTime <= timed.closeTime;
  if (seen.sequence === timed.sequence) return seen.closeTime === timed.closeTime;
  const networkSeconds = timed.closeTime + (now.monotonicMs - timed.atMs) / 1_000;
  const latest = Math.max(networkSeconds, now.wallSeconds) + LIMITS.aheadSeconds;
  return seen.closeTime >= timed.closeTime && seen.closeTime <= latest;
}

function afterLagging(state: HeadState, seen: Seen, now: Now): { state: HeadState; verdict: Verdict } {
  const { newest, sinceMs } = state.lagging ?? { newest: seen, sinceMs: now.monotonicMs };
  const lagging = { newest: seen.sequence >= newest.sequence ? seen : newest, sinceMs };
  if (now.monotonicMs - sinceMs < LIMITS.laggingMs) {
    return { verdict: "lagging", state: { ...state, timed: newestTimed(state.timed, seen), lagging } };
  }
  // A known time above the head would make every following answer odd.
  const isAbove = (state.timed?.sequence ?? 0) > lagging.newest.sequence;
  const timed = timedOf(lagging.newest) ?? (isAbove ? undefined : state.timed);
  const verdict = seen.sequence === lagging.newest.sequence ? "current" : "lagging";
  return { verdict, state: { head: lagging.newest, timed } };
}

function afterOdd(state: HeadState, seen: Seen, now: Now): { state: HeadState; verdict: Verdict } {
  const { head, odd } = state;
  if (head === undefined && odd !== undefined && areNear(odd, seen)) {
    const higher = seen.sequence >= odd.sequence ? seen : odd;
    return { verdict: higher === seen ? "newer" : "lagging", state: { head: higher, timed: timedOf(higher) } };
  }
  // A height without a time decides nothing: the head asks the node for its time.
  if (head !== undefined && seen.closeTime === undefined) return { verdict: "odd", state };
  if (odd === undefined || !isPlausibleAfter(odd, seen, now)) return { verdict: "odd", state: { ...state, odd: seen } };
  const isSecond = seen.atMs - odd.atMs >= LIMITS.oddMs && now.sameAtMs >= odd.atMs;
  if (head === undefined || !isSecond) return { verdict: "odd", state };
  return { verdict: "newer", state: { head: seen, timed: timedOf(seen) } };
}

/** Compares the first two answers on an empty store, in either order, by their heights and close times alone. */
function areNear(one: Seen, other: Seen): boolean {
  const [before, after] = one.sequence <= other.sequence ? [one, other] : [other, one];
  const seconds = before.closeTime && after.closeTime ? after.closeTime - before.closeTime : 0;
  const passed = Math.abs(other.atMs - one.atMs) / 1_000;
  return after.sequence - before.sequence <= LIMITS.ledgers + LIMITS.ledgersPerSecond * Math.max(passed, seconds) &&
    seconds >= 0 && seconds <= passed + LIMITS.aheadSeconds;
}

function timedOf({ sequence, closeTime, atMs }: Seen): HeadState["timed"] {
  return closeTime ? { sequence, closeTime, atMs } : undefined;
}

function newestTimed(timed: HeadState["timed"], seen: Seen): HeadState["timed"] {
  return timed === undefined || seen.sequence > timed.sequence ? timedOf(seen) ?? timed : timed;
}

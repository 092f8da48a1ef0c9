import { MAX_LEDGER } from "../ledger_numbers.ts";

/* The newest ledger that any node has shown, and what each answer of a node means for it: no network and no clock of its own. */

/** What an answer says of its node's newest ledger. */
export interface Answer {
  sequence: number;
  /** Unix seconds; absent or 0 where the answer does not say it. */
  closeTime?: number;
}

/** An answer, and when it came: monotonic ms. */
export interface Seen extends Answer {
  atMs: number;
}

/**
 * `newer`: the head from now on. `current`: of the head. `lagging`: of an older ledger. `odd`: it fits neither; nothing
 * changes before a second one fits to it, and a reset was ruled out.
 */
export type Verdict = "newer" | "current" | "lagging" | "odd";

export interface HeadState {
  /** `atMs`: when it was seen last. */
  head?: Seen;
  /** The newest ledger whose close time is known. `atMs`: when it was seen first. */
  timed?: Seen & { closeTime: number };
  /** The newest of the lagging answers since the head was seen last, and when the first of them came. */
  lagging?: { newest: Seen; sinceMs: number };
  /** The first odd answer to which the later ones fit. */
  odd?: Seen;
}

export interface Now {
  monotonicMs: number;
  /** Unix seconds, by our own clock. */
  wallSeconds: number;
  /** When the last comparison began that ruled a reset out, monotonic ms. */
  sameAtMs: number;
}

export const LIMITS = {
  /** So many ledgers may close at any time, and so many in a second. */
  ledgers: 1_000,
  ledgersPerSecond: 200,
  /** A close time may be so far ahead of the network's time, or of our clock. */
  aheadSeconds: 60,
  /** A second odd answer counts when it comes so much later. */
  oddMs: 2_000,
  /** The head falls when only lagging answers have come for so long. */
  laggingMs: 30_000,
} as const;

/** What an answer means, and the state after it. */
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
 * Whether an answer can be of the same network as one before it.
 * @param timed the ledger with which its close time is compared
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

/** Close times never fall from one ledger to the next, and none is in the future. */
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
  // A time of a ledger above the head would make odd answers of all that follow.
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
  // A height alone decides nothing: the node is asked for its time.
  if (head !== undefined && seen.closeTime === undefined) return { verdict: "odd", state };
  if (odd === undefined || !isPlausibleAfter(odd, seen, now)) return { verdict: "odd", state: { ...state, odd: seen } };
  const isSecond = seen.atMs - odd.atMs >= LIMITS.oddMs && now.sameAtMs >= odd.atMs;
  if (head === undefined || !isSecond) return { verdict: "odd", state };
  return { verdict: "newer", state: { head: seen, timed: timedOf(seen) } };
}

/** By heights and their own times alone: the first two answers on an empty store, in either order. */
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

/** Stands for the node of what is stored: before a start, or by another gateway. */
export const STORED = -1;

/** What an answer of a node says of the newest ledger. */
export interface Claim {
  /** Which node, by its place in the list. */
  node: number;
  sequence: number;
  /** Unix seconds; absent where the answer does not say one. */
  closeTime?: number;
  /** When it was asked, by the monotonic clock; absent: just now. */
  askedAtMs?: number;
}

/** A claim that was heard. `closeTime` is 0 where none was said. */
export interface Heard {
  node: number;
  sequence: number;
  closeTime: number;
  /** By the monotonic clock. */
  atMs: number;
}

/** A ledger that is held to exist. The close time is that of `timedSequence`, which may be an older ledger. */
export interface Known extends Heard {
  timedSequence: number;
  timedAtMs: number;
}

export interface Rival extends Heard {
  /** Below what is believed and not confirmed: nothing to weigh once that is confirmed. */
  isLower: boolean;
}

export interface Belief {
  /** The newest ledger that is believed; undefined before the first one. */
  believed: Known | undefined;
  /** The newest ledger that two claims speak for; what was stored before a start counts as such. */
  confirmed: Known | undefined;
  /** The oldest believed ledger that still waits to be confirmed. */
  unconfirmed: Known | undefined;
  /** When somebody last spoke for what is believed. */
  spokenForAtMs: number;
  /** Since when nodes have said less than that, though no less than is confirmed; undefined: they do not, or lag. */
  lowerSinceMs: number | undefined;
  /** When each node last did and said its close time, too: where times contradict one another, a sequence alone says little. */
  spokenForBy: Record<number, number>;
  rivals: Rival[];
  /** How often a rival has won. */
  overturned: number;
  /** The most ledgers a second that are natural. */
  ledgersPerSecond: number;
  /** Since when our own clock and the network disagree; undefined while they agree. */
  clockWrongSinceMs: number | undefined;
  /** How often the network was known to have been taken back when it was followed in that last. */
  networkReverts: number;
  /** The network went back from this ledger, and has not come so far again. */
  wentBackFrom: Known | undefined;
}

/** What is known when a claim is taken for true. */
export function knownBy(heard: Heard, before?: Known): Known {
  const timed = heard.closeTime > 0
    ? { closeTime: heard.closeTime, timedSequence: heard.sequence, timedAtMs: heard.atMs }
    : {
      closeTime: before?.closeTime ?? 0,
      timedSequence: before?.timedSequence ?? 0,
      timedAtMs: before?.timedAtMs ?? 0,
    };
  if (before === undefined || heard.sequence > before.sequence) return { ...heard, ...timed };
  // The same ledger once more: it is known, and timed, since it was first said.
  return before.timedSequence === heard.sequence ? before : { ...before, ...timed };
}

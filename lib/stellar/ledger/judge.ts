import { MAX_LEDGER } from "../../ledger_numbers.ts";
import { type Belief, type Claim, type Heard, type Known, knownBy, type Rival, STORED } from "./belief.ts";

/**
 * What the gateway believes of the network's newest ledger, decided from what nodes claim: no network and no clock of its
 * own. One wrong answer changes nothing for longer than a few seconds, or than a few ledgers take, and never moves the time.
 *
 * A claim that follows naturally from what is known is *believed* at once, and *confirmed* when another claim, a second
 * later or of another node, does not fall short of it. What does not follow is a *rival*: it is asked for again, and wins
 * when a second claim some seconds later is consistent with it; never by one node's word alone while another speaks for
 * what is believed, unless no ledger has followed that for minutes and our own clock agrees with the rival.
 */

/**
 * `current`: of the believed ledger, which it may have raised. `ahead`: of a newer one that is not believed yet; what a
 * second such answer says beside it may be used. `lagging`: of an older one, or of another network's: what it says is old.
 */
export type Verdict = "current" | "ahead" | "lagging";

export const JUDGE_LIMITS = {
  /** So many ledgers may always have closed … */
  ledgers: 100,
  /** … and so many a second since; more when more were confirmed lately. */
  ledgersPerSecond: 4,
  mostLedgersPerSecond: 4_000,
  /** How much further than the time since a close time may have moved; and how far our own clock may be off. */
  closeTimeSlackSeconds: 60,
  /** How long it may be at odds with the network before it is known to be wrong: both may be moved, one after the other. */
  clockPatienceMs: 5_000,
  /** How much later a second claim confirms a natural one. */
  confirmMs: 1_000,
  /** How much later a second claim makes a rival win: of another node, or of the only one … */
  rivalMs: 2_000,
  /** … and of the same node where there are others. */
  sameNodeMs: 10_000,
  /** … or sooner, against what waits to be confirmed: by then the node that said that has been asked again. */
  sameNodeLowerMs: 5_000,
  /** So few ledgers less may be lag, for so long: by then the network has come so far. */
  fewLedgers: 3,
  fewLedgersMs: 18_000,
  /** A network that has closed no ledger for so long rests. */
  restMs: 25_000,
  rivalKeptMs: 60_000,
  rivals: 4,
  /** When nobody has spoken for what is believed for so long, or shown more, lower claims are rivals to it, or outweigh it. */
  forgottenMs: 300_000,
} as const;

const LIMITS = JUDGE_LIMITS;
/** No network closes more ledgers while a claim is remembered. */
const FURTHEST = LIMITS.ledgers + LIMITS.mostLedgersPerSecond * LIMITS.rivalKeptMs / 1_000;

/** Whether two claims that were heard one soon after the other may be of one network: an absurd one says nothing of others. */
export function areNear(sequence: number, other: number): boolean {
  return Math.abs(sequence - other) <= FURTHEST;
}

/** What is known before any claim: nothing, or what was stored before a start. */
export function firstBelief(stored: { sequence: number; closeTime: number } | undefined, nowMs: number): Belief {
  const known = stored && stored.sequence > 0 ? knownBy({ node: STORED, ...stored, atMs: nowMs }) : undefined;
  return {
    believed: known,
    confirmed: known,
    unconfirmed: undefined,
    spokenForAtMs: nowMs,
    lowerSinceMs: undefined,
    spokenForBy: {},
    rivals: [],
    overturned: 0,
    ledgersPerSecond: LIMITS.ledgersPerSecond,
    clockWrongSinceMs: undefined,
    networkReverts: 0,
    wentBackFrom: undefined,
  };
}

/** Now, for the judge: intervals go by the monotonic clock, our own wall clock is a witness. */
export interface JudgeNow {
  monotonicMs: number;
  /** Unix seconds. */
  wallSeconds: number;
  /** How many nodes there are. */
  nodes: number;
  /** As in `Clock`. */
  networkReverts: number;
}

export interface Judgement {
  verdict: Verdict;
  belief: Belief;
  /** Whether the claim is worth another question: it is neither what is believed nor merely old. */
  isDoubtful: boolean;
}

/** Weighs one claim. */
export function judge(belief: Belief, claim: Claim, now: JudgeNow): Judgement {
  const { node, sequence, closeTime = 0 } = claim;
  if (!Number.isInteger(sequence) || sequence < 1 || sequence > MAX_LEDGER) {
    return { verdict: "lagging", belief, isDoubtful: false };
  }
  // What was asked before another claim was heard is no second one after it, however late it is heard itself.
  const askedAtMs = claim.askedAtMs ?? now.monotonicMs;
  const heard: Heard = { node, sequence, closeTime, atMs: now.monotonicMs };
  const agreesWithClock = closeTime > 0 && Math.abs(closeTime - now.wallSeconds) <= LIMITS.closeTimeSlackSeconds;
  const isWitnessed = agreesWithClock && !isClockWrong(belief, now.monotonicMs);
  let relation = relate(belief, heard, askedAtMs, isWitnessed);
  const isOlder = relation === "behind" || relation === "lower";
  // What was on its way meanwhile speaks for the network as it was, and puts our clock in the wrong: that decides nothing.
  const isTakenBack = isOlder && agreesWithClock && now.networkReverts > belief.networkReverts;
  if (isTakenBack) relation = "rival";
  if (relation === "behind") {
    const lowerSinceMs = node === STORED ? belief.lowerSinceMs : undefined;
    return { verdict: "lagging", belief: { ...belief, lowerSinceMs }, isDoubtful: false };
  }
  const lowerSinceMs = relation === "lower" ? belief.lowerSinceMs ?? now.monotonicMs : undefined;
  const judgement = relation === "follows"
    ? { verdict: "current" as const, belief: follow({ ...belief, lowerSinceMs }, heard, askedAtMs), isDoubtful: false }
    : weigh({ ...belief, lowerSinceMs }, heard, { askedAtMs, isLower: relation === "lower", agreesWithClock, ...now });
  if (judgement.verdict !== "current" || closeTime === 0) return judgement;
  // A clock that is at odds with the first time that is said is wrong; one that was moved may be waiting for a ledger to follow.
  const isFirst = belief.believed === undefined || Object.keys(belief.spokenForBy).length === 0;
  const wrongSinceMs = belief.clockWrongSinceMs ?? (isFirst ? -Infinity : now.monotonicMs);
  const clockWrongSinceMs = agreesWithClock ? undefined : wrongSinceMs;
  const { networkReverts } = isTakenBack ? now : belief;
  return { ...judgement, belief: { ...judgement.belief, clockWrongSinceMs, networkReverts } };
}

/** Whether our own clock is known to be wrong, or at least another one than the network's: then it is no witness. */
export function isClockWrong({ clockWrongSinceMs }: Belief, nowMs: number): boolean {
  return clockWrongSinceMs !== undefined && nowMs - clockWrongSinceMs >= LIMITS.clockPatienceMs;
}

/**
 * How a claim stands to what is believed. `behind`: older, as a lagging node's is. `rival`: it cannot be true beside what
 * is believed, or is more than can be believed at once. `lower`: it would be true if what waits to be confirmed were not.
 */
function relate(
  belief: Belief,
  heard: Heard,
  askedAtMs: number,
  isWitnessed: boolean,
): "follows" | "behind" | "rival" | "lower" {
  const { believed, confirmed } = belief;
  if (believed === undefined) return isWitnessed ? "follows" : "rival";
  if (heard.sequence >= believed.sequence && canBeOneHistory(believed, heard)) {
    return isNatural(belief, heard, askedAtMs, isWitnessed) ? "follows" : "rival";
  }
  const isOlder = confirmed !== undefined &&
    (heard.sequence < confirmed.sequence || (heard.closeTime > 0 && heard.closeTime < confirmed.closeTime));
  const isStored = heard.node === STORED;
  if (belief.unconfirmed !== undefined && !isOlder && !isStored) return "lower";
  // Close times never fall as sequences rise: an older ledger that closed later is of another history.
  if (heard.sequence < believed.timedSequence && heard.closeTime > believed.closeTime) return "rival";
  // How far somebody has read says nothing of what there is beyond.
  if (isStored) return "behind";
  return heard.atMs - belief.spokenForAtMs >= LIMITS.forgottenMs ? "rival" : "behind";
}

/** Whether a ledger that is not older can come after what is believed: a ledger has one close time, and none falls. */
function canBeOneHistory({ closeTime, timedSequence }: Known, heard: Heard): boolean {
  if (closeTime === 0 || heard.closeTime === 0) return true;
  return heard.sequence === timedSequence ? heard.closeTime === closeTime : heard.closeTime >= closeTime;
}

/** Whether so much can have happened since what is confirmed; or since what waits for just this claim to confirm it. */
function isNatural(belief: Belief, heard: Heard, askedAtMs: number, isWitnessed: boolean): boolean {
  const { believed, confirmed, unconfirmed, ledgersPerSecond } = belief;
  if (isNaturalAfter(confirmed ?? believed!, heard, isWitnessed, ledgersPerSecond)) return true;
  return unconfirmed !== undefined && confirms(unconfirmed, heard, askedAtMs) &&
    isNaturalAfter(unconfirmed, heard, isWitnessed, ledgersPerSecond);
}

function isNaturalAfter(base: Known, heard: Heard, isWitnessed: boolean, ledgersPerSecond: number): boolean {
  const mostAfter = (seconds: number) => base.sequence + LIMITS.ledgers + ledgersPerSecond * seconds;
  const latestCloseTime = base.closeTime + (heard.atMs - base.timedAtMs) / 1000 + LIMITS.closeTimeSlackSeconds;
  const isInTime = heard.closeTime === 0 ||
    (base.closeTime === 0 ? isWitnessed : heard.closeTime <= latestCloseTime);
  if (isInTime && heard.sequence <= mostAfter((heard.atMs - base.atMs) / 1000)) return true;
  // After a sleep of this machine, or a stop of this program, our own clock speaks for the time that has passed.
  return isWitnessed && base.closeTime > 0 && heard.sequence <= mostAfter(heard.closeTime - base.closeTime);
}

function follow(belief: Belief, heard: Heard, askedAtMs: number): Belief {
  const believed = knownBy(heard, belief.believed);
  const rivals = belief.rivals.filter((rival) => {
    if (heard.atMs - rival.atMs > LIMITS.rivalKeptMs) return false;
    // A lower claim counts from when somebody spoke for what is believed last; a sequence alone says little.
    if (rival.isLower) return heard.closeTime === 0;
    return rival.sequence > believed.sequence || rival.closeTime > believed.closeTime;
  });
  const wentBackFrom = believed.sequence > (belief.wentBackFrom?.sequence ?? 0) ? undefined : belief.wentBackFrom;
  // What is stored stays stored: heard again, it says nothing of what the network shows by now.
  const isHeardAgain = heard.node === STORED && believed.sequence === belief.believed?.sequence;
  const spokenForAtMs = isHeardAgain ? belief.spokenForAtMs : heard.atMs;
  const spokenForBy = heard.closeTime === 0 || isHeardAgain
    ? belief.spokenForBy
    : { ...belief.spokenForBy, [heard.node]: heard.atMs };
  return confirm({ ...belief, believed, rivals, wentBackFrom, spokenForAtMs, spokenForBy }, heard, askedAtMs);
}

/** Whether a claim that follows confirms what waits for one: it comes a second later, or from another node. */
function confirms(waiting: Known, heard: Heard, askedAtMs: number): boolean {
  if (heard.node === waiting.node && askedAtMs - waiting.atMs < LIMITS.confirmMs) return false;
  // An untimed claim says nothing of a time.
  return waiting.timedSequence !== waiting.sequence || heard.closeTime > 0;
}

function confirm(belief: Belief, heard: Heard, askedAtMs: number): Belief {
  const { confirmed, unconfirmed: waiting } = belief;
  const believed = belief.believed!;
  if (waiting === undefined) {
    const isNew = confirmed === undefined || believed.sequence > confirmed.sequence ||
      believed.timedSequence > confirmed.timedSequence;
    return isNew ? { ...belief, unconfirmed: believed } : belief;
  }
  if (!confirms(waiting, heard, askedAtMs)) return belief;
  return {
    ...belief,
    confirmed: waiting,
    unconfirmed: believed.sequence === waiting.sequence && believed.timedSequence === waiting.timedSequence
      ? undefined
      : believed,
    rivals: belief.rivals.filter(({ isLower }) => !isLower),
    ledgersPerSecond: paceAfter(belief.ledgersPerSecond, confirmed, waiting),
  };
}

/** Twice the pace at which ledgers were confirmed last; what was seen before is forgotten by halves. */
function paceAfter(ledgersPerSecond: number, from: Known | undefined, to: Known): number {
  const seconds = from === undefined ? 0 : Math.max((to.atMs - from.atMs) / 1000, to.closeTime - from.closeTime);
  const seen = from === undefined || seconds < 0.5 ? 0 : (to.sequence - from.sequence) / seconds;
  const pace = Math.max(LIMITS.ledgersPerSecond, 2 * seen, ledgersPerSecond / 2);
  return Math.min(LIMITS.mostLedgersPerSecond, pace);
}

/** A rival wins with a second claim that is consistent with it; else it is remembered. */
function weigh(
  belief: Belief,
  heard: Heard,
  { askedAtMs, isLower, agreesWithClock, nodes }: {
    askedAtMs: number;
    isLower: boolean;
    agreesWithClock: boolean;
    nodes: number;
  },
): Judgement {
  const { believed } = belief;
  const verdict = believed === undefined || heard.sequence > believed.sequence ? "ahead" : "lagging";
  const rivals = belief.rivals.filter(({ atMs }) => heard.atMs - atMs <= LIMITS.rivalKeptMs);
  // An untimed claim never outweighs a timed one.
  const isOutweighed = (believed?.closeTime ?? 0) > 0 || rivals.some(({ closeTime }) => closeTime > 0);
  if (heard.closeTime === 0 && isOutweighed) return { verdict, belief, isDoubtful: true };
  const alike = rivals.filter((rival) => rival.isLower === isLower && isConsistent(rival, heard));
  const sameNodeMs = isLower ? LIMITS.sameNodeLowerMs : LIMITS.sameNodeMs;
  const isWordEnough = agreesWithClock && isLeftBehind(believed, heard);
  const isOverruled = ({ node, atMs }: Rival) =>
    !isWordEnough &&
    Object.entries(belief.spokenForBy).some(([speaker, spokenAtMs]) => Number(speaker) !== node && spokenAtMs > atMs);
  const winner = alike.findLast((rival) => {
    if (nodes === 1 || rival.node !== heard.node) return askedAtMs - rival.atMs >= LIMITS.rivalMs;
    return askedAtMs - rival.atMs >= sameNodeMs && !isOverruled(rival);
  });
  if (winner !== undefined && isLower && mayBeLag(belief, heard)) {
    return { verdict, belief: confirmLower(belief, winner, heard), isDoubtful: false };
  }
  if (winner !== undefined) return { verdict: "current", belief: won(belief, winner, heard), isDoubtful: false };
  // A node's own word counts from when it was overruled last.
  const own = alike.filter(({ node }) => node === heard.node);
  const others = rivals.filter((rival) => !own.includes(rival));
  const remembered = own.some((rival) => !isOverruled(rival))
    ? rivals
    : [...others, { ...heard, isLower }].slice(-LIMITS.rivals);
  return { verdict, belief: { ...belief, rivals: remembered }, isDoubtful: true };
}

/**
 * Whether no ledger has followed what is believed for minutes, as of a network that was reset and a node still shows. What was
 * stored is as old as its ledger: a process may not live for minutes.
 */
function isLeftBehind(believed: Known | undefined, { closeTime, atMs }: Heard): boolean {
  if (believed === undefined || closeTime - believed.closeTime < LIMITS.forgottenMs / 1_000) return false;
  return believed.node === STORED || atMs - believed.atMs >= LIMITS.forgottenMs;
}

/** What was shown is not taken back for a node that lags: before long it will show as much. */
function mayBeLag({ believed, confirmed, lowerSinceMs }: Belief, heard: Heard): boolean {
  if (believed === undefined || lowerSinceMs === undefined) return false;
  const ledgers = believed.sequence - heard.sequence;
  const earlierMs = (believed.closeTime - heard.closeTime) * 1_000;
  const isOfItsTime = heard.closeTime === 0 || believed.closeTime === 0 ||
    (earlierMs >= 0 && earlierMs <= LIMITS.fewLedgersMs);
  const isSoon = heard.atMs - lowerSinceMs < LIMITS.fewLedgersMs;
  // One that rests has no node that lags.
  const hasMoved = confirmed !== undefined && believed.atMs - confirmed.atMs <= LIMITS.restMs;
  return hasMoved && ledgers >= 1 && ledgers <= LIMITS.fewLedgers && isOfItsTime && isSoon;
}

/** Two claims speak for a ledger below what is believed: that much is certain, and what is believed waits on. */
function confirmLower(belief: Belief, earlier: Heard, later: Heard): Belief {
  const { believed, unconfirmed } = belief;
  const rivals = [...belief.rivals.filter((rival) => !rival.isLower), { ...later, isLower: true }];
  if (earlier.sequence <= (belief.confirmed?.sequence ?? 0)) return { ...belief, rivals };
  const confirmed = knownBy(earlier, belief.confirmed);
  const isPassed = unconfirmed !== undefined && unconfirmed.sequence <= confirmed.sequence;
  return { ...belief, confirmed, unconfirmed: isPassed ? believed : unconfirmed, rivals };
}

/** Two claims speak for the earlier one; the later one has to be confirmed itself. */
function won(belief: Belief, earlier: Heard, later: Heard): Belief {
  const [confirmed, believed] = [knownBy(earlier), knownBy(later, knownBy(earlier))];
  // What nobody spoke for any more may just be ahead of the nodes that are left.
  const isForgotten = later.atMs - belief.spokenForAtMs >= LIMITS.forgottenMs;
  const wentBack = !isForgotten && later.sequence < (belief.confirmed?.sequence ?? 0);
  return {
    believed,
    confirmed,
    unconfirmed: believed.sequence === confirmed.sequence ? undefined : believed,
    spokenForAtMs: later.atMs,
    lowerSinceMs: undefined,
    spokenForBy: {},
    rivals: [],
    overturned: belief.overturned + 1,
    ledgersPerSecond: paceAfter(belief.ledgersPerSecond, confirmed, believed),
    clockWrongSinceMs: belief.clockWrongSinceMs,
    networkReverts: belief.networkReverts,
    wentBackFrom: wentBack ? belief.confirmed : undefined,
  };
}

/** Whether both can be of one history, as far as what passed between them goes. */
function isConsistent(earlier: Heard, later: Heard): boolean {
  if (later.sequence < earlier.sequence) return false;
  if (earlier.closeTime === 0 || later.closeTime === 0) return earlier.closeTime === later.closeTime;
  const elapsedSeconds = (later.atMs - earlier.atMs) / 1000;
  return later.closeTime >= earlier.closeTime &&
    later.closeTime <= earlier.closeTime + elapsedSeconds + LIMITS.closeTimeSlackSeconds;
}

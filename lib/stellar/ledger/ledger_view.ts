import type { Clock } from "../../clock.ts";
import { type Belief, type Claim, type Known, STORED } from "./belief.ts";
import { firstBelief, isClockWrong, judge, JUDGE_LIMITS, type Verdict } from "./judge.ts";
import { createShownLedger, type Moment } from "./shown_ledger.ts";

/** The newest ledger as this gateway sees it: what it believes of what all nodes say (`judge.ts`). */
export interface LedgerView {
  /** The newest ledger that is believed; 0 before the first. */
  readonly sequence: number;
  /** Close time of that ledger (or, while `closeTimeIsExact` is false, of an older one), Unix seconds; 0 while unknown. */
  readonly closeTime: number;
  /** Whether `closeTime` is that of `sequence`: entries and simulations raise the sequence without saying a time. */
  readonly closeTimeIsExact: boolean;
  /** The newest ledger that two claims speak for: what no single wrong answer has raised; 0 before the first. */
  readonly confirmed: { readonly sequence: number; readonly closeTime: number };
  /** The newest ledger as of which anybody was shown something. A node that shows less lags, whatever is believed by now. */
  readonly shownSequence: number;
  /** From here the network went back lately, by two claims, and has not come so far again. */
  readonly wentBackFrom: Pick<Known, "timedSequence" | "closeTime"> | undefined;
  /** How often two claims have overturned what was believed: what they speak of may be another network. */
  readonly overturned: number;
  /** Takes in what an answer said of the newest ledger. A sequence of 0 says nothing, and is `current`. */
  hear(claim: Claim): Verdict;
  /** Something is shown as of this ledger. */
  hearShown(sequence: number): void;
  /** Somebody is told that a transaction was applied in this ledger. One beyond all that was heard says nothing. */
  hearApplied(sequence: number): void;
  /**
   * The network's time now, Unix seconds: a close time that no single answer has made, and the time since. Our own
   * clock's before the first.
   */
  networkSeconds(): number;
  /**
   * Why `networkSeconds` may be wrong in the first seconds after a start, undefined when there is no reason. `unheard`: no
   * node has said a time yet. `contradicted`: one has, and our own clock disagrees. `resting`: two claims have, and our clock
   * is ahead of them: it is wrong, unless the network has rested, which shows when a ledger closes, or none does.
   */
  timeDoubt(): "unheard" | "contradicted" | "resting" | undefined;
  /** By how many seconds the network's time is ahead of our own clock (negative: behind it), where that is over a minute. */
  clockDisagreement(): number | undefined;
  /**
   * Called with the sequence when the believed ledger changes or is overturned, and when an answer speaks of a newer one
   * that is not believed yet: what was read before may be old now. Answers how to stop.
   */
  onNews(listener: (sequence: number) => void): () => void;
  /** Called with a claim that has to be asked for again; answers how to stop. */
  onDoubt(listener: (claim: Claim) => void): () => void;
}

const NEVER: Moment = { sequence: 0, closeTime: 0 };
/** A network that closes no ledgers is taken to have rested for no longer than this, whatever our own clock says. */
const LONGEST_REST_SECONDS = 3_000;
/** A network that has closed no ledger for so long rests. */
const REST_SHOWS_MS = 8_000;

/** A view that starts from what was stored before this start. `nodes`: how many there are to be asked. */
export function createLedgerView({ clock, stored, nodes = 1 }: {
  clock: Clock;
  stored?: { sequence: number; closeTime: number };
  nodes?: number;
}): LedgerView {
  let belief: Belief = firstBelief(stored, clock.monotonicMs());
  const shown = createShownLedger(clock);
  /** The newest ledger that was news without being believed. */
  let newsAhead = 0;
  let firstSequence: number | undefined;
  /**
   * Whether a ledger has closed since the first that was believed, for the close time of a network that stands still is no
   * clock, or our own clock agreed with it, which may be moved later; or whether nodes speak of that one after so long that
   * it has closed none. Undefined: that has not shown yet.
   */
  let pace: "moves" | "rests" | undefined;
  /** What became of the close times that were said since this start. */
  let timeHeard: "none" | "contradicted" | "believed" = "none";
  /** Which ledger each node speaks of, and since when: it has shown no other one since. */
  const shownBy = new Map<number, { sequence: number; sinceMs: number }>();
  const newsListeners = new Set<(sequence: number) => void>();
  const doubtListeners = new Set<(claim: Claim) => void>();

  function tellNews(sequence: number): void {
    for (const listener of newsListeners) listener(sequence);
  }

  /** What its time is by now, had a ledger closed since, in seconds. */
  function since({ closeTime, timedAtMs }: Known): number {
    return closeTime + (clock.monotonicMs() - timedAtMs) / 1000;
  }

  /** A network that was taken for resting may close a ledger after all; one that has moved does not rest for good. */
  function learnPace({ node, sequence }: Claim, verdict: Verdict): void {
    if (shownBy.get(node)?.sequence !== sequence) shownBy.set(node, { sequence, sinceMs: clock.monotonicMs() });
    if (verdict === "current" && node !== STORED) firstSequence ??= belief.believed!.sequence;
    if (firstSequence === undefined || pace === "moves") return;
    const { confirmed } = belief;
    // What was stored before is older than the first.
    const isOther = confirmed !== undefined &&
      (confirmed.sequence > firstSequence || (confirmed.sequence < firstSequence && confirmed.node !== STORED));
    const hasRested = timeHeard === "believed" && node !== STORED && sequence === firstSequence &&
      clock.monotonicMs() - shownBy.get(node)!.sinceMs >= REST_SHOWS_MS;
    const isOfNow = confirmed !== undefined && confirmed.node !== STORED && confirmed.closeTime > 0 &&
      Math.abs(since(confirmed) - clock.now() / 1000) <= JUDGE_LIMITS.closeTimeSlackSeconds;
    if (isOther || isOfNow) pace = "moves";
    else if (hasRested) pace = "rests";
  }

  function learnTime({ node, closeTime = 0 }: Claim, verdict: Verdict): void {
    if (closeTime === 0 || node === STORED || timeHeard === "believed") return;
    const offSeconds = Math.abs(clock.now() / 1000 - closeTime);
    if (verdict === "current") timeHeard = "believed";
    else if (offSeconds > JUDGE_LIMITS.closeTimeSlackSeconds) timeHeard = "contradicted";
  }

  /** @param longestRest for how long it may have closed no ledger, in seconds */
  function networkSeconds(longestRest = LONGEST_REST_SECONDS): number {
    const wallSeconds = clock.now() / 1000;
    const { believed, confirmed } = belief;
    // What an answer and our own clock agree on was not made by that answer alone.
    if (believed !== undefined && believed.closeTime > 0) {
      const seconds = since(believed);
      if (Math.abs(seconds - wallSeconds) <= JUDGE_LIMITS.closeTimeSlackSeconds) return Math.floor(seconds);
    }
    if (confirmed === undefined || confirmed.closeTime === 0) return Math.floor(wallSeconds);
    if (pace === "moves") return Math.floor(since(confirmed));
    const latest = timeHeard === "believed" ? since(believed!) + longestRest : Infinity;
    return Math.floor(Math.min(Math.max(wallSeconds, since(confirmed)), latest));
  }

  return {
    get sequence() {
      return belief.believed?.sequence ?? 0;
    },
    get closeTime() {
      return belief.believed?.closeTime ?? 0;
    },
    get closeTimeIsExact() {
      const { believed } = belief;
      return believed !== undefined && believed.closeTime > 0 && believed.timedSequence === believed.sequence;
    },
    get confirmed() {
      return belief.confirmed ?? { sequence: 0, closeTime: 0 };
    },
    get shownSequence() {
      return shown.sequence;
    },
    get wentBackFrom() {
      return belief.wentBackFrom;
    },
    get overturned() {
      return belief.overturned;
    },
    networkSeconds: () => networkSeconds(),
    timeDoubt() {
      if (timeHeard === "none") return "unheard";
      if (timeHeard === "contradicted") return "contradicted";
      if (pace !== undefined) return undefined;
      const aheadSeconds = clock.now() / 1000 - since(belief.believed!);
      return aheadSeconds > JUDGE_LIMITS.closeTimeSlackSeconds ? "resting" : undefined;
    },
    hear(claim) {
      if (claim.sequence === 0) return "current";
      const before = belief;
      const now = {
        monotonicMs: clock.monotonicMs(),
        wallSeconds: clock.now() / 1000,
        nodes,
        networkReverts: clock.networkReverts?.() ?? 0,
      };
      const { verdict, belief: next, isDoubtful } = judge(belief, claim, now);
      belief = next;
      if (isOtherHistory(before, next, shown)) shown.forget();
      shown.hear(claim);
      learnPace(claim, verdict);
      learnTime(claim, verdict);
      const sequence = next.believed?.sequence ?? 0;
      if (sequence !== (before.believed?.sequence ?? 0) || next.overturned !== before.overturned) tellNews(sequence);
      else if (verdict === "ahead" && claim.sequence !== newsAhead) tellNews(newsAhead = claim.sequence);
      if (isDoubtful) { for (const listener of doubtListeners) listener(claim); }
      return verdict;
    },
    hearShown: (sequence) => shown.show(sequence, belief.believed ?? NEVER),
    hearApplied: (sequence) => shown.showApplied(sequence, belief.believed ?? NEVER),
    clockDisagreement() {
      if ((belief.confirmed?.closeTime ?? 0) === 0 || !isClockWrong(belief, clock.monotonicMs())) return undefined;
      const seconds = Math.round(networkSeconds(Infinity) - clock.now() / 1000);
      return Math.abs(seconds) > JUDGE_LIMITS.closeTimeSlackSeconds ? seconds : undefined;
    },
    onNews(listener) {
      newsListeners.add(listener);
      return () => newsListeners.delete(listener);
    },
    onDoubt(listener) {
      doubtListeners.add(listener);
      return () => doubtListeners.delete(listener);
    },
  };
}

/**
 * Whether what is believed since is not only older than what two claims spoke for: the network begins anew, or was taken back
 * by who may; or what was shown was never there, of which two wrong answers had spoken.
 */
function isOtherHistory(
  before: Belief,
  { believed, confirmed, overturned, networkReverts }: Belief,
  shown: Moment,
): boolean {
  if (networkReverts !== before.networkReverts) return true;
  const contradicts = (now: Moment, then: Moment) => now.sequence < then.sequence && now.closeTime > then.closeTime;
  if (contradicts(confirmed ?? NEVER, shown)) return true;
  return overturned !== before.overturned && contradicts(believed!, before.confirmed ?? NEVER);
}

import type { Clock } from "../../clock.ts";
import type { Claim, Known } from "./belief.ts";
import { areNear, JUDGE_LIMITS } from "./judge.ts";

/**
 * The newest ledger as of which anybody was shown something, once no single wrong answer can have made it up: nothing is
 * shown as of an older one after it, whatever is believed by then.
 */
export interface ShownLedger {
  /** 0 when there is none, or when nobody has spoken for it for some minutes. */
  readonly sequence: number;
  /** It closed about then, or before, Unix seconds; Infinity where no claim has said it. */
  readonly closeTime: number;
  /** Takes in a claim. */
  hear(claim: Claim): void;
  /**
   * Something is shown as of this ledger. It counts when two claims have spoken for it; never where it closed before what is
   * believed, as a ledger of another network has.
   */
  show(sequence: number, believed: Moment): void;
  /**
   * Somebody is told that a transaction was applied in this ledger: it counts at once, but where it is beyond all that was
   * heard, as one of a former network may be.
   */
  showApplied(sequence: number, believed: Moment): void;
  /** The network is another one by now. */
  forget(): void;
}

/** A ledger and its close time. */
export type Moment = Pick<Known, "sequence" | "closeTime">;

/** That a ledger, or one after it, was there when it was asked. */
interface Word {
  node: number;
  sequence: number;
  closeTime: number;
  askedAtMs: number;
  heardAtMs: number;
}

const NONE = { sequence: 0, closeTime: 0, atMs: 0 };
/** Of what is shown in a minute, the newest. */
const MOST_WAITING = 256;

/** Whether a word is of this ledger or of one that may be there beside it. */
function speaksFor(word: { sequence: number }, sequence: number): boolean {
  return word.sequence >= sequence && areNear(word.sequence, sequence);
}

export function createShownLedger(clock: Pick<Clock, "monotonicMs">): ShownLedger {
  let words: Word[] = [];
  /** Shown, and not spoken for yet. */
  let waiting: { sequence: number; atMs: number }[] = [];
  let shown = NONE;

  /** Whether two claims say that it is there: a second apart, or of two nodes. */
  function isSpokenFor(sequence: number): boolean {
    const [first, ...others] = words.filter((word) => speaksFor(word, sequence));
    return others.some((word) => word.node !== first!.node || isSecond(first!, word));
  }

  /** What was on its way while the first was heard is no second one after it. */
  function isSecond(first: Word, { askedAtMs }: Word): boolean {
    return askedAtMs - first.heardAtMs >= JUDGE_LIMITS.confirmMs;
  }

  /** At most two of a node in a second. */
  function remember(word: Word): void {
    const [last, before] = words.filter(({ node }) => node === word.node).slice(-2).reverse();
    if (last === undefined || isSecond(last, word)) return void words.push(word);
    if (speaksFor(last, word.sequence)) return;
    if (before !== undefined && !isSecond(before, last)) words.splice(words.indexOf(last), 1);
    words.push(word);
  }

  function raise(sequence: number): void {
    const timed = words.filter((word) => word.sequence >= sequence && word.closeTime > 0);
    // What was said of a ledger further up, or wrongly of this one, may be too early.
    const nearest = Math.min(...timed.map((word) => word.sequence));
    const closeTimes = timed.flatMap((word) => word.sequence === nearest ? [word.closeTime] : []);
    const closeTime = closeTimes.length === 0 ? Infinity : Math.max(...closeTimes);
    shown = { sequence, closeTime, atMs: clock.monotonicMs() };
  }

  function settle(): void {
    const nowMs = clock.monotonicMs();
    const isRemembered = ({ atMs }: { atMs: number }) => nowMs - atMs <= JUDGE_LIMITS.rivalKeptMs;
    waiting = waiting.filter((one) => one.sequence > shown.sequence && isRemembered(one)).slice(-MOST_WAITING);
    for (const { sequence } of waiting) {
      if (sequence > shown.sequence && isSpokenFor(sequence)) raise(sequence);
    }
  }

  return {
    get sequence() {
      return clock.monotonicMs() - shown.atMs < JUDGE_LIMITS.forgottenMs ? shown.sequence : 0;
    },
    get closeTime() {
      return shown.closeTime;
    },
    hear({ node, sequence, closeTime = 0, askedAtMs }) {
      const heardAtMs = clock.monotonicMs();
      const word = { node, sequence, closeTime, askedAtMs: askedAtMs ?? heardAtMs, heardAtMs };
      words = words.filter((one) => heardAtMs - one.heardAtMs <= JUDGE_LIMITS.rivalKeptMs);
      remember(word);
      if (speaksFor(word, shown.sequence)) shown = { ...shown, atMs: heardAtMs };
      settle();
    },
    show(sequence, believed) {
      const { closeTime = 0 } = words.findLast((word) => word.sequence === sequence) ?? {};
      if (closeTime > 0 && closeTime < believed.closeTime) return;
      if (!waiting.some((one) => one.sequence === sequence)) waiting.push({ sequence, atMs: clock.monotonicMs() });
      settle();
    },
    showApplied(sequence, believed) {
      const isHeardOf = sequence <= believed.sequence || words.some((word) => speaksFor(word, sequence));
      if (isHeardOf && sequence > shown.sequence) raise(sequence);
    },
    forget() {
      words = [];
      waiting = [];
      shown = NONE;
    },
  };
}

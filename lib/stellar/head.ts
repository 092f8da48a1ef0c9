/*
 * Holds the head, the minimum ledger and network time, and notifies the rooms that follow them. `observe.ts` decides
 * what an answer means, `network_time.ts` what time it is, and `fresh_read.ts` which answers a client may see.
 */

import type { Clock } from "../clock.ts";
import { GatewayError } from "../errors.ts";
import { createNetworkTime } from "./network_time.ts";
import { type Answer, type HeadState, LIMITS, observe, type Verdict } from "./observe.ts";

/** The newest ledger that any node has shown. Reads, envelopes and the watcher depend on it. */
export interface Head {
  /** 0 before the first ledger. */
  readonly sequence: number;
  /** Close time of the newest ledger whose time is known, Unix seconds; 0 when none is known. */
  readonly closeTime: number;
  /** Whether `closeTime` belongs to `sequence`. */
  readonly isTimed: boolean;
  /** The newest ledger whose close time is known, with that time; the head with 0 when no time is known. */
  readonly timed: { readonly sequence: number; readonly closeTime: number };
  /**
   * The minimum ledger of a read: the newest that the gateway has shown to a client or confirmed. Never above the head.
   */
  readonly minimum: number;
  /** When a node last showed the head (monotonic); undefined before the first such answer since the start. */
  readonly shownAtMs: number | undefined;
  /**
   * Takes the newest ledger of a node's answer, or of another gateway. A sequence of 0 carries no ledger and is
   * `current`.
   */
  observe(answer: Answer & { node?: number }): Verdict;
  /** Raises the minimum: a client sees data as of this ledger. */
  show(sequence: number): void;
  /** Raises head and minimum to the ledger of a confirmed transaction, if that is plausible. */
  confirm(sequence: number): void;
  /** Sets the head of a new epoch, or of a sandbox that reverted. */
  restart(ledger: Answer): void;
  /**
   * Records that a comparison with this node, or with all when absent, ruled out a reset. `atMs`: when it began
   * (monotonic).
   */
  ruledOutReset(atMs: number, node?: number): void;
  /** Resolves when the head has reached this ledger or has fallen, or after `timeoutMs`. Never rejects. */
  wait(sequence: number, timeoutMs: number): Promise<void>;
  /** The head's sequence. Asks a node when there is no head yet. @throws {GatewayError} `upstream_error` */
  first(): Promise<number>;
  /** Network time, Unix seconds; see `NetworkTime`. */
  networkSeconds(): number;
  /** Network time once it is certain. Waits up to 8 s after a start. @throws {GatewayError} `upstream_error` */
  certainTime(): Promise<number>;
  /** Seconds by which network time is ahead of our clock, negative when it is behind; undefined up to a minute. */
  clockDisagreement(): number | undefined;
  /** Calls the listener when the head rises or falls, with its sequence and the one before. */
  onChange(listener: (sequence: number, before: number) => void): void;
  /** Calls the listener after an odd answer of this node. */
  onOdd(listener: (node: number | undefined) => void): void;
}

export interface HeadParts {
  clock: Clock;
  /** The stored head of the last run. */
  stored?: Answer;
  /** Asks a node for its newest ledger with the time: the node of this index, or one that is well. */
  ask?: (node?: number) => Promise<unknown>;
}

const FIRST_POLL_MS = 3;
const LONGEST_POLL_MS = 1_000;
/** Each pause is the time waited so far, divided by this. */
const PATIENCE = 2;
const TIME_POLL_MS = 500;
/** One of three first answers may be absurd; the other two decide. */
const FIRST_ANSWERS = 3;

/** @param parts without `ask`, the head changes only by `observe`, `confirm` and `restart` */
export function createHead({ clock, stored, ask = () => Promise.resolve() }: HeadParts): Head {
  const { monotonicMs } = clock;
  const time = createNetworkTime(clock);
  const listeners = {
    change: new Set<(sequence: number, before: number) => void>(),
    odd: new Set<(node: number | undefined) => void>(),
  };
  let state: HeadState = stored?.sequence ? begun(stored, monotonicMs()) : {};
  /** A restart forgets what clients saw. That was at most the stored head, with few exceptions. */
  let minimum = state.head?.sequence ?? 0;
  let shownAtMs: number | undefined;
  /** When the reset check last ruled out a reset, for all nodes and for each. Infinity while no reset check listens. */
  const sameAtMs = { all: Infinity, of: new Map<number, number>() };
  let asking: Promise<unknown> | undefined;
  /** The poll for the callers of `wait`, and their number. */
  const polling: { underWay?: Promise<void>; callers: number } = { callers: 0 };

  const sequence = () => state.head?.sequence ?? 0;

  function become(next: HeadState): void {
    const before = sequence();
    state = next;
    if (sequence() === before) return;
    minimum = Math.min(minimum, sequence());
    for (const listener of listeners.change) listener(sequence(), before);
  }

  function take(answer: Answer & { node?: number }): Verdict {
    if (answer.sequence === 0) return "current";
    const isFirst = state.head === undefined;
    const { node } = answer;
    // A comparison counts only for its own node: another node may show another network.
    const ruledOutAtMs = Math.max(sameAtMs.all, sameAtMs.of.get(node ?? -1) ?? -Infinity);
    const now = { monotonicMs: monotonicMs(), wallSeconds: clock.now() / 1_000, sameAtMs: ruledOutAtMs };
    const { verdict, state: next } = observe(state, answer, now);
    if (verdict !== "odd" && node !== undefined && answer.closeTime) time.learn(next.timed, verdict === "lagging");
    if (verdict === "newer" || (verdict === "current" && node !== undefined)) shownAtMs = monotonicMs();
    become(next);
    if (verdict !== "odd") return verdict;
    if (isFirst || !answer.closeTime) asking ??= ask(node).catch(() => {}).finally(() => asking = undefined);
    else for (const listener of listeners.odd) listener(node);
    return verdict;
  }

  /** One poll serves all waiting callers. Its first pauses are short, for a network that closes ledgers on demand. */
  async function poll(isOver: () => boolean): Promise<void> {
    let [startedAtMs, before] = [monotonicMs(), sequence()];
    while (!isOver()) {
      await clock.wait(Math.min(LONGEST_POLL_MS, Math.max(FIRST_POLL_MS, (monotonicMs() - startedAtMs) / PATIENCE)));
      if (isOver()) break;
      await ask().catch(() => {});
      if (sequence() !== before) [startedAtMs, before] = [monotonicMs(), sequence()];
    }
  }

  return {
    get sequence() {
      return sequence();
    },
    get closeTime() {
      return state.timed?.closeTime ?? 0;
    },
    get isTimed() {
      return state.timed !== undefined && state.timed.sequence === state.head?.sequence;
    },
    get timed() {
      const { sequence: timedSequence = sequence(), closeTime = 0 } = state.timed ?? {};
      return { sequence: timedSequence, closeTime };
    },
    get minimum() {
      return minimum;
    },
    get shownAtMs() {
      return shownAtMs;
    },
    observe: take,
    show(shown) {
      minimum = Math.max(minimum, Math.min(shown, sequence()));
    },
    confirm(confirmed) {
      if (take({ sequence: confirmed }) !== "odd") minimum = Math.max(minimum, Math.min(confirmed, sequence()));
    },
    restart(ledger) {
      time.restart();
      become(begun(ledger, monotonicMs()));
      minimum = ledger.sequence;
    },
    ruledOutReset(atMs, node) {
      if (node === undefined) sameAtMs.all = atMs;
      else sameAtMs.of.set(node, atMs);
    },
    async wait(wanted, timeoutMs) {
      if (sequence() >= wanted) return;
      const ends = new AbortController();
      const { promise, resolve } = Promise.withResolvers<void>();
      const listener = (now: number, before: number) => {
        if (now >= wanted || now < before) resolve();
      };
      listeners.change.add(listener);
      polling.callers += 1;
      void clock.wait(timeoutMs, ends.signal).then(resolve);
      polling.underWay ??= poll(() => polling.callers === 0).finally(() => polling.underWay = undefined);
      await promise;
      polling.callers -= 1;
      listeners.change.delete(listener);
      ends.abort();
    },
    async first() {
      for (let asked = 0; asked < FIRST_ANSWERS && state.head === undefined; asked++) await ask();
      await asking;
      if (state.head !== undefined) return state.head.sequence;
      throw uncertain("it is not certain yet which ledger the network is at; try again in a moment", 1);
    },
    networkSeconds: () => time.seconds(state.timed),
    async certainTime() {
      const endsAtMs = monotonicMs() + CERTAIN_MS;
      while (!time.isCertain(state.timed)) {
        if (monotonicMs() > endsAtMs) {
          throw uncertain("the node's time and this machine's clock disagree; try again in a few seconds", 2);
        }
        const askedAtMs = monotonicMs();
        await ask();
        time.asked(askedAtMs);
        // When no node reports a time, our own clock stands.
        if (state.head !== undefined && state.timed === undefined) break;
        if (!time.isCertain(state.timed)) await clock.wait(TIME_POLL_MS);
      }
      return time.seconds(state.timed);
    },
    clockDisagreement() {
      if (!time.isCertain(state.timed)) return undefined;
      const seconds = time.seconds(state.timed) - Math.round(clock.now() / 1_000);
      return Math.abs(seconds) > LIMITS.aheadSeconds ? seconds : undefined;
    },
    onChange(listener) {
      listeners.change.add(listener);
    },
    onOdd(listener) {
      // From now on a reset check compares.
      if (sameAtMs.all === Infinity) sameAtMs.all = -Infinity;
      listeners.odd.add(listener);
    },
  };
}

/** Longer than `REST_MS` of `network_time.ts`: by then a resting network is certain. */
const CERTAIN_MS = 12_000;

function begun({ sequence, closeTime }: Answer, atMs: number): HeadState {
  return { head: { sequence, closeTime, atMs }, timed: closeTime ? { sequence, closeTime, atMs } : undefined };
}

function uncertain(message: string, retryAfter: number): GatewayError {
  return new GatewayError("upstream_error", message, { headers: { "Retry-After": String(retryAfter) } });
}

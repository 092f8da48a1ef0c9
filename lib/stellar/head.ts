import type { Clock } from "../clock.ts";
import { GatewayError } from "../errors.ts";
import { createNetworkTime } from "./network_time.ts";
import { type Answer, type HeadState, LIMITS, observe, type Verdict } from "./observe.ts";

/** The newest ledger that any node has shown: what reads, envelopes and the watcher go by. `observe.ts` has the rules. */
export interface Head {
  /** 0 before the first ledger. */
  readonly sequence: number;
  /** Close time of the newest ledger whose time is known, Unix seconds; 0 while unknown. */
  readonly closeTime: number;
  /** Whether `closeTime` is that of `sequence`. */
  readonly isTimed: boolean;
  /** The newest ledger whose close time is known, or the head where none is: a pair that belongs together. */
  readonly timed: { readonly sequence: number; readonly closeTime: number };
  /** The minimum ledger of a read: as new as any that was shown to a client or confirmed, and never above the head. */
  readonly minimum: number;
  /** Takes in what an answer of a node says, or what another gateway saw. A sequence of 0 says nothing, and is `current`. */
  observe(answer: Answer & { node?: number }): Verdict;
  /** Something as of this ledger is shown to a client: raises the minimum. */
  show(sequence: number): void;
  /** A transaction was confirmed in this ledger: raises head and minimum, where that is plausible. */
  confirm(sequence: number): void;
  /** Another network, or the same one taken back: this is its head. */
  restart(ledger: Answer): void;
  /** A comparison with this node that began then (monotonic ms) ruled a reset out; with all of them when absent. */
  ruledOutReset(atMs: number, node?: number): void;
  /** Resolves when the head has come to this ledger or has fallen, or after `timeoutMs`. Never rejects. */
  wait(sequence: number, timeoutMs: number): Promise<void>;
  /** The head's sequence. Asks for it while there is none. @throws {GatewayError} `upstream_error` */
  first(): Promise<number>;
  /** Unix seconds; see `NetworkTime`. */
  networkSeconds(): number;
  /** The same, once it can be relied on. Waits for up to 8 s after a start. @throws {GatewayError} `upstream_error` */
  certainTime(): Promise<number>;
  /** By how many seconds the network's time is ahead of our own clock (negative: behind it), where that is over a minute. */
  clockDisagreement(): number | undefined;
  /** Called when the head has risen or fallen, with its sequence and the one before. */
  onChange(listener: (sequence: number, before: number) => void): void;
  /** Called after an odd answer of this node. */
  onOdd(listener: (node: number | undefined) => void): void;
}

export interface HeadParts {
  clock: Clock;
  /** The head of the last run. */
  stored?: Answer;
  /** Asks for the newest ledger with its time: this node, by its place in the list, or whichever is well. */
  ask?: (node?: number) => Promise<unknown>;
}

const FIRST_POLL_MS = 3;
const LONGEST_POLL_MS = 1_000;
/** Each poll comes half the time later that was waited already. */
const PATIENCE = 2;
const TIME_POLL_MS = 500;
/** Of a node that answers with an absurd ledger once, the third answer decides. */
const FIRST_ANSWERS = 3;

/** @param parts without `ask` the head is only as new as what it is told */
export function createHead({ clock, stored, ask = () => Promise.resolve() }: HeadParts): Head {
  const { monotonicMs } = clock;
  const time = createNetworkTime(clock);
  const listeners = {
    change: new Set<(sequence: number, before: number) => void>(),
    odd: new Set<(node: number | undefined) => void>(),
  };
  let state: HeadState = stored?.sequence ? begun(stored, monotonicMs()) : {};
  /** What was shown before a start is not known: no more than the head of then, mostly. */
  let minimum = state.head?.sequence ?? 0;
  /** When a reset was ruled out with each node. Where nobody compares, nothing speaks for one. */
  const sameAtMs = { all: Infinity, of: new Map<number, number>() };
  let asking: Promise<unknown> | undefined;
  let polling: Promise<void> | undefined;

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
    // An odd answer counts by a comparison with its own node: another one may show another network.
    const ruledOutAtMs = Math.max(sameAtMs.all, sameAtMs.of.get(node ?? -1) ?? -Infinity);
    const now = { monotonicMs: monotonicMs(), wallSeconds: clock.now() / 1_000, sameAtMs: ruledOutAtMs };
    const { verdict, state: next } = observe(state, answer, now);
    if (verdict !== "odd" && node !== undefined && answer.closeTime) time.learn(next.timed, verdict === "lagging");
    become(next);
    if (verdict !== "odd") return verdict;
    if (isFirst || !answer.closeTime) asking ??= ask(node).catch(() => {}).finally(() => asking = undefined);
    else for (const listener of listeners.odd) listener(node);
    return verdict;
  }

  /** One poll serves all who wait: quick at first, for a network that closes ledgers at once. */
  async function poll(isOver: () => boolean): Promise<void> {
    let [startedAtMs, before] = [monotonicMs(), sequence()];
    while (!isOver()) {
      await clock.wait(Math.min(LONGEST_POLL_MS, Math.max(FIRST_POLL_MS, (monotonicMs() - startedAtMs) / PATIENCE)));
      if (isOver()) break;
      await ask().catch(() => {});
      if (sequence() !== before) [startedAtMs, before] = [monotonicMs(), sequence()];
    }
  }

  let waiting = 0;

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
      waiting += 1;
      void clock.wait(timeoutMs, ends.signal).then(resolve);
      polling ??= poll(() => waiting === 0).finally(() => polling = undefined);
      await promise;
      waiting -= 1;
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
        // Nodes that say no time leave our own clock alone.
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
      // Now somebody compares.
      if (sameAtMs.all === Infinity) sameAtMs.all = -Infinity;
      listeners.odd.add(listener);
    },
  };
}

/** Longer than a network takes to show that it rests. */
const CERTAIN_MS = 12_000;

function begun({ sequence, closeTime }: Answer, atMs: number): HeadState {
  return { head: { sequence, closeTime, atMs }, timed: closeTime ? { sequence, closeTime, atMs } : undefined };
}

function uncertain(message: string, retryAfter: number): GatewayError {
  return new GatewayError("upstream_error", message, { headers: { "Retry-After": String(retryAfter) } });
}

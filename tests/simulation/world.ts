import { createHash } from "node:crypto";
import "./promise_ticks.ts";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import { type SeededRandom, seededRandom } from "../faults/seeded_random.ts";

/** Whose a timer is: a gateway that may be dead or stopped by then, with a clock of its own. */
export interface Owner {
  readonly isDead: boolean;
  /** The world's time until which it stands still; in the past: it runs. */
  readonly pausedUntilMs: number;
  wallMs(): number;
  monotonicMs(): number;
}

/** Nobody's timers ring whatever becomes of the machines. */
export const NOBODY: Owner = {
  isDead: false,
  pausedUntilMs: 0,
  wallMs: () => START_MS,
  monotonicMs: () => 0,
};

export interface Timer {
  atMs: number;
  owner: Owner | undefined;
  run: () => void;
  isCancelled: boolean;
  /** An answer of something outside: which of those that wait is heard first after a standstill is chance. */
  isAnswer: boolean;
}

/** Unix ms at which every world begins. */
export const START_MS = Date.parse("2026-01-01T00:00:00Z");
/** So many turns of the real event loop without anything of the world moving, and nothing moves until a timer rings. */
const QUIET_TURNS = 4;
/** The same while a request's or an answer's body is being read, which takes turns of its own. */
const READING_TURNS = 40;
/** Within so long after a standstill all is heard that came meanwhile. */
const WAKING_MS = 5;

/** So far apart are the seeds of a world's dice. */
const [FATE, DOINGS] = [1_000_000_007, 2_000_000_011];

/** Choices that a seed repeats. */
export class Dice {
  readonly random: SeededRandom;

  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  /** By chance, this often. */
  chance(probability: number): boolean {
    return this.random.next() < probability;
  }

  /** An integer from `from` to `to`, both inclusive. */
  integer(from: number, to: number): number {
    return Math.floor(this.random.between(from, to + 1));
  }
}

/**
 * A world in which time passes only from one timer to the next, one at a time: what a seed does, it does again. All that
 * its gateways wait for (stores, nodes, receivers, clocks) are timers here.
 */
export class World extends Dice {
  /** Of what goes wrong, and of what people do: that these hang on nothing else keeps a seed's world alike when the product changes. */
  readonly fate: Dice;
  readonly doings: Dice;
  /** Since the beginning. */
  nowMs = 0;
  /** When a clock was set last, the store's or a machine's. */
  clockSetAtMs = 0;
  steps = 0;
  #timers: Timer[] = [];
  #current: Owner | undefined;
  #movements = 0;
  #isReading = false;
  readonly #trace = createHash("sha256");
  /** What happened in this step. */
  #noted: string[] = [];
  #said: ((line: string) => void) | undefined;

  constructor(readonly seed: number, said?: (line: string) => void) {
    super(seed);
    this.fate = new Dice(seed + FATE);
    this.doings = new Dice(seed + DOINGS);
    this.#said = said;
  }

  after(ms: number, run: () => void, owner: Owner | undefined = this.#current, isAnswer = false): Timer {
    this.#movements++;
    const timer: Timer = { atMs: this.nowMs + Math.max(0, ms), owner, run, isCancelled: false, isAnswer };
    this.#insert(timer);
    return timer;
  }

  pass(ms: number, owner?: Owner, isAnswer = false): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve, owner, isAnswer));
  }

  /** A body is read from now on: until that has come to an end the world stands still. */
  reading(): void {
    this.#movements++;
    this.#isReading = true;
  }

  /** What happens, for the trace: equal seeds have equal traces. */
  note(line: string): void {
    this.#movements++;
    const stamped = `${this.nowMs.toFixed(3)} ${line}`;
    this.#noted.push(stamped);
    this.#said?.(stamped);
  }

  /** SHA-256 of the trace so far, in short. */
  traceHash(): string {
    this.#traceNoted();
    return this.#trace.copy().digest("hex").slice(0, 16);
  }

  /** Which of those that one step wakes goes on first is the runtime's affair. */
  #traceNoted(): void {
    for (const line of this.#noted.sort()) this.#trace.update(`${line}\n`);
    this.#noted = [];
  }

  /** Lets the world go on until then, or until `isOver`. */
  async runUntil(untilMs: number, isOver: () => boolean = () => false): Promise<void> {
    const given = takeOverClocks(this, () => this.#current);
    try {
      await this.#quiet();
      while (!isOver()) {
        const timer = this.#timers[0];
        if (timer === undefined || timer.atMs > untilMs) break;
        this.#timers.shift();
        if (timer.isCancelled || timer.owner?.isDead) continue;
        const resumesMs = timer.owner?.pausedUntilMs ?? 0;
        if (resumesMs > timer.atMs) {
          const laterMs = timer.isAnswer ? this.random.between(0, WAKING_MS) : 0;
          this.#insert(Object.assign(timer, { atMs: resumesMs + laterMs }));
          continue;
        }
        this.nowMs = timer.atMs;
        this.steps++;
        this.#current = timer.owner;
        timer.run();
        await this.#quiet();
        this.#traceNoted();
        this.#current = undefined;
      }
      if (!isOver()) this.nowMs = Math.max(this.nowMs, untilMs);
    } finally {
      given();
    }
  }

  /** Does something on behalf of this owner: timers made meanwhile are its own. */
  as<T>(owner: Owner, work: () => T): T {
    const before = this.#current;
    this.#current = owner;
    try {
      return work();
    } finally {
      this.#current = before;
    }
  }

  async #quiet(): Promise<void> {
    for (let quiet = 0; quiet < (this.#isReading ? READING_TURNS : QUIET_TURNS); quiet++) {
      const before = this.#movements;
      await yieldToOthers();
      if (this.#movements !== before) quiet = -1;
    }
    this.#isReading = false;
  }

  #insert(timer: Timer): void {
    let [low, high] = [0, this.#timers.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#timers[middle]!.atMs <= timer.atMs) low = middle + 1;
      else high = middle;
    }
    this.#timers.splice(low, 0, timer);
  }
}

/**
 * While a world goes on, the runtime's clocks, timers and randomness are the world's, for those parts of a gateway that
 * are not handed any. Answers how to give them back.
 */
function takeOverClocks(world: World, current: () => Owner | undefined): () => void {
  const real = {
    setTimeout: globalThis.setTimeout,
    setInterval: globalThis.setInterval,
    clearTimeout: globalThis.clearTimeout,
    clearInterval: globalThis.clearInterval,
  };
  const realDateNow = Date.now;
  const realRandom = Math.random;
  const realPerformanceNow = performance.now;
  const realValues = crypto.getRandomValues;
  const cancel = (timer: unknown) => {
    if (typeof timer === "object" && timer !== null) (timer as Timer).isCancelled = true;
  };
  const unref = { unref: () => undefined, ref: () => undefined, [Symbol.toPrimitive]: () => 0 };
  Object.assign(globalThis, {
    setTimeout: (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
      Object.assign(world.after(ms, () => run(...args)), unref),
    setInterval: (run: () => void, ms: number) => {
      const owner = current();
      const timer = Object.assign(world.after(ms, again, owner), unref);
      function again() {
        run();
        if (timer.isCancelled) return;
        const next = world.after(ms, again, owner);
        Object.defineProperty(next, "isCancelled", { get: () => timer.isCancelled });
      }
      return timer;
    },
    clearTimeout: cancel,
    clearInterval: cancel,
  });
  Date.now = () => current()?.wallMs() ?? START_MS + world.nowMs;
  performance.now = () => current()?.monotonicMs() ?? world.nowMs;
  Math.random = () => world.random.next();
  crypto.getRandomValues = ((values: Uint8Array) => {
    for (let at = 0; at < values.length; at++) values[at] = Math.floor(world.random.next() * 256);
    return values;
  }) as typeof crypto.getRandomValues;
  return () => {
    Object.assign(globalThis, real);
    Date.now = realDateNow;
    Math.random = realRandom;
    performance.now = realPerformanceNow;
    crypto.getRandomValues = realValues;
  };
}

import type { Clock } from "../../lib/clock.ts";
import { checkedStore, type StoreDriver } from "../../lib/store/checked_store.ts";
import { type Store, StoreError } from "../../lib/store/store.ts";
import { STORE_NOUNS } from "../faults/wrapped_store.ts";
import { type Owner, START_MS, type World } from "./world.ts";

/** What may go wrong with a machine, as probabilities of each call that it makes. */
export interface Troubles {
  /** It dies, before or after the call has had its effect. */
  crash: number;
  /** The store refuses: before the call had its effect, or after it. */
  storeFault: number;
  /** A call takes long. */
  stall: number;
}

export const NO_TROUBLES: Troubles = { crash: 0, storeFault: 0, stall: 0 };

/** Something that befalls a machine in the middle of a call: before the call has its effect, or when it has had it. */
export interface Ambush {
  /** A part of the call's name. */
  at: string;
  isAfter: boolean;
  /** The store fails. */
  isFault: boolean;
  spring(machine: Machine): void;
}

type Call = (...args: unknown[]) => unknown;

/** A process on a machine of its own: a clock that drifts and jumps, calls that take their time, fail, or are its last. */
export class Machine implements Owner {
  isDead = false;
  pausedUntilMs = 0;
  troubles: Troubles = NO_TROUBLES;
  ambush: Ambush | undefined;
  /** Resolves when it dies. */
  readonly died: Promise<undefined>;
  #tellDeath!: (none: undefined) => void;
  readonly #bornMs: number;
  #aheadMs: number;
  readonly #onDeath: (machine: Machine) => void;

  /** @param options `aheadMs`: how far its wall clock is ahead at first */
  constructor(
    readonly name: string,
    readonly world: World,
    { pace, aheadMs, onDeath }: { pace: number; aheadMs: number; onDeath: (machine: Machine) => void },
  ) {
    this.#bornMs = world.nowMs;
    this.#aheadMs = aheadMs;
    this.#onDeath = onDeath;
    this.pace = pace;
    this.died = new Promise((resolve) => this.#tellDeath = resolve);
  }

  /** How fast its clock goes: 1 is right. */
  readonly pace: number;

  monotonicMs(): number {
    return (this.world.nowMs - this.#bornMs) * this.pace;
  }

  wallMs(): number {
    return Math.floor(START_MS + this.#bornMs + this.monotonicMs() + this.#aheadMs);
  }

  readonly clock: Clock = {
    now: () => this.wallMs(),
    monotonicMs: () => this.monotonicMs(),
    wait: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const timer = this.world.after(ms / this.pace, resolve, this);
        signal?.addEventListener("abort", () => {
          timer.isCancelled = true;
          resolve();
        }, { once: true });
      }),
  };

  /** Sets its wall clock ahead, or back. */
  setClock(byMs: number): void {
    this.world.note(`${this.name} clock ${byMs}`);
    this.world.clockSetAtMs = this.world.nowMs;
    this.#aheadMs += byMs;
  }

  /** Stands still, as after SIGSTOP. */
  pause(ms: number): void {
    this.world.note(`${this.name} pause ${ms}`);
    this.pausedUntilMs = this.world.nowMs + ms;
  }

  /** As by SIGKILL: of all that was under way nothing goes on. */
  die(why: string): void {
    if (this.isDead) return;
    this.world.note(`${this.name} dies ${why}`);
    this.isDead = true;
    this.#tellDeath(undefined);
    this.#onDeath(this);
  }

  /** A call to something outside of the process: it takes time, and may be the last thing that the process does. */
  async call<T>(name: string, work: () => T | Promise<T>, fault?: () => Error): Promise<T> {
    const { world, troubles } = this;
    const ambush = this.#ambushOf(name, fault !== undefined);
    const mayFail = fault !== undefined && (ambush?.isFault || world.chance(troubles.storeFault));
    const failsBefore = mayFail && (ambush?.isFault ? !ambush.isAfter : world.chance(0.5));
    const dies = world.chance(troubles.crash);
    const diesBefore = dies && world.chance(0.5);
    await this.#takesTime();
    if (diesBefore) this.die(`before ${name}`);
    if (ambush?.isAfter === false) {
      world.note(`${this.name} is ambushed before ${name}`);
      ambush.spring(this);
      await world.pass(0, this, true);
    }
    if (this.isDead) return await never();
    if (failsBefore) throw this.#failed(name, fault!());
    let answer: T;
    try {
      answer = await work();
    } catch (error) {
      await this.#takesTime();
      world.note(`${this.name} ${name} ${(error as Error).name}`);
      throw error;
    }
    world.note(`${this.name} ${name}`);
    if (dies) this.die(`after ${name}`);
    if (ambush?.isAfter === true) {
      world.note(`${this.name} is ambushed after ${name}`);
      ambush.spring(this);
    }
    if (this.isDead) return await never();
    await this.#takesTime();
    if (this.isDead) return await never();
    if (mayFail && !failsBefore) throw this.#failed(`${name} (done)`, fault!());
    return answer;
  }

  #ambushOf(name: string, canFail: boolean): Ambush | undefined {
    const { ambush } = this;
    if (ambush === undefined || !name.includes(ambush.at) || (ambush.isFault && !canFail)) return undefined;
    this.ambush = undefined;
    return ambush;
  }

  #failed(name: string, error: Error): Error {
    this.world.note(`${this.name} ${name} fails`);
    return error;
  }

  #takesTime(): Promise<void> {
    const { world, troubles } = this;
    const ms = world.chance(troubles.stall) ? world.integer(200, 20_000) : world.random.between(0.05, 3);
    return world.pass(ms, this, true);
  }

  /** The shared store as this machine sees it. */
  storeOn(driver: StoreDriver, onCall: (method: string, args: unknown[], answer: unknown) => void): Store {
    const nouns = Object.fromEntries(STORE_NOUNS.map((noun) => [noun, this.#noun(driver, noun, onCall)]));
    const own = { ...driver, ...nouns, close() {}, holdForServing: () => driver.holdForServing() };
    return checkedStore(own as unknown as StoreDriver, () => this.monotonicMs());
  }

  #noun(driver: StoreDriver, noun: typeof STORE_NOUNS[number], onCall: (m: string, a: unknown[], r: unknown) => void) {
    const methods = driver[noun] as unknown as Record<string, Call>;
    const calls = Object.entries(methods).map(([method, call]) => {
      const name = `${noun}.${method}`;
      const wrapped = (...args: unknown[]) => {
        const sent = asSent(args);
        return this.call(name, async () => {
          const answer = await call(...sent);
          onCall(name, sent, answer);
          return answer;
        }, () => new StoreError("unavailable", "the store could not be reached"));
      };
      return [method, wrapped];
    });
    return Object.fromEntries(calls);
  }
}

/** What is handed to a store is written as it is then, not as it becomes while the call is on its way; functions go along. */
function asSent(args: unknown[]): unknown[] {
  return args.map((arg) => typeof arg === "function" ? arg : structuredClone(arg));
}

const never = () => new Promise<never>(() => {});

import { BOUNDS, type Nouns } from "./bounds.ts";
import { withAttach } from "./reference.ts";
import type { SharedStateStore } from "./shared_state.ts";
import { type Store, StoreError, type StoreObserver } from "./store.ts";

/**
 * The part of a store that differs between drivers. The store is open and the caller keeps the bounds when a method runs. A
 * method answers at once or with a promise, and passes errors of its database on.
 */
export type StoreDriver =
  & Pick<Store, "location" | "id" | "isShared">
  & { readonly [Noun in keyof Nouns]: NounDriver<Nouns[Noun]> }
  & {
    /** As `Store.holdForServing`. A second call comes only after a rejection. */
    holdForServing(): Promise<void>;
    /** As `Store.onNotification`. Absent where the store cannot notify. */
    onNotification?(listener: () => void): void;
    /** Called once, after the last call has ended. */
    close(): void | Promise<void>;
    /** Turns an error of the database into a `StoreError`. Returns any other error unchanged. */
    toStoreError(error: unknown): unknown;
  };

export type NounDriver<Noun> = {
  readonly [Method in keyof Noun]: Noun[Method] extends (...args: infer Args) => Promise<infer Answer>
    ? (...args: Args) => Answer | Promise<Answer>
    : never;
};

type Method = (...args: unknown[]) => unknown;

/** Makes a store of a driver. Adds the bounds, the closed state, the kinds of errors and the reports to the observer. */
export function checkedStore(driver: StoreDriver, monotonicMs: () => number = () => performance.now()): Store {
  let observer: StoreObserver | undefined;
  let held: Promise<void> | undefined;
  let closing: Promise<void> | undefined;
  const underWay = new Set<Promise<unknown>>();

  async function call<T>(method: string, work: () => T | Promise<T>): Promise<T> {
    if (closing !== undefined) throw new StoreError("unavailable", `${driver.location} is closed`);
    const startedAt = monotonicMs();
    let failure: StoreError | undefined;
    try {
      return await work();
    } catch (error) {
      const reported = driver.toStoreError(error);
      failure = reported instanceof StoreError ? reported : new StoreError("unavailable", String(reported));
      throw reported;
    } finally {
      observer?.called(method, monotonicMs() - startedAt, failure?.kind);
    }
  }

  /** `close` waits for this promise. */
  function tracked<T>(promise: Promise<T>): Promise<T> {
    underWay.add(promise);
    const done = () => void underWay.delete(promise);
    promise.then(done, done);
    return promise;
  }

  function noun<Name extends keyof Nouns>(name: Name): Nouns[Name] {
    const methods = driver[name] as unknown as Record<string, Method>;
    const checked = Object.entries(BOUNDS[name] as Record<string, Method>).map(([method, check]) => {
      const label = `${name}.${method}`;
      // deno-lint-ignore require-await -- async, so that an exceeded bound rejects
      const checkedCall = async (...args: unknown[]) => {
        check(...args);
        return tracked(call(label, () => methods[method]!(...args)));
      };
      return [method, checkedCall];
    });
    return Object.fromEntries(checked);
  }

  async function hold(): Promise<void> {
    try {
      await tracked(call("holdForServing", () => driver.holdForServing()));
    } catch (error) {
      held = undefined;
      throw error;
    }
  }

  async function close(): Promise<void> {
    await Promise.allSettled(underWay);
    await driver.close();
  }

  const sharedState = noun("sharedState");
  return {
    location: driver.location,
    id: driver.id,
    isShared: driver.isShared,
    holdForServing: () => closing === undefined && held !== undefined ? held : (held = hold()),
    close: () => closing ??= close(),
    observe: (next) => void (observer = next),
    onNotification: (listener) => void (closing === undefined && driver.onNotification?.(listener)),
    network: noun("network"),
    keys: noun("keys"),
    buckets: noun("buckets"),
    submissions: noun("submissions"),
    references: withAttach(noun("references"), driver.isShared),
    intents: noun("intents"),
    leases: noun("leases"),
    sharedState: { ...sharedState, change: passingOn(sharedState.change) },
    events: noun("events"),
    subscriptions: noun("subscriptions"),
    deliveries: noun("deliveries"),
    payments: noun("payments"),
    transactions: noun("transactions"),
  };
}

/** Passes on an error of the caller's `change` as it is: for the driver it is a change without a value. */
function passingOn(change: SharedStateStore["change"]): SharedStateStore["change"] {
  return async <T, A>(name: string, work: Parameters<typeof change<T, A>>[1]) => {
    const outcome = await change<T, { answer: A } | { error: unknown }>(name, (value, nowMs) => {
      try {
        const { answer, ...next } = work(value, nowMs);
        return { ...next, answer: { answer } };
      } catch (error) {
        return { keepMs: 0, answer: { error } };
      }
    });
    if ("error" in outcome) throw outcome.error;
    return outcome.answer;
  };
}

import { type Store, StoreError, type StoreErrorKind } from "../store/store.ts";
import type { Attempt } from "../store/webhook_store.ts";

export interface StoreObserver {
  /** A call was refused by the store. */
  storeFailed(kind: StoreErrorKind): void;
  /** An attempt to deliver was written down. */
  deliveryAttempted(attempt: Attempt): void;
}

/** The same store, whose failures and whose written attempts are counted. */
export function observedStore(store: Store, { storeFailed, deliveryAttempted }: StoreObserver): Store {
  const observed = new Map<PropertyKey, unknown>();

  function failed(error: unknown): never {
    if (error instanceof StoreError) storeFailed(error.kind);
    throw error;
  }

  function observe(name: PropertyKey, method: (...args: unknown[]) => Promise<unknown>) {
    return function observedCall(...args: unknown[]): Promise<unknown> {
      const done = method.apply(store, args).catch(failed);
      if (name === "settle") {
        return done.then(() =>
          (args[0] as { attempt: Attempt }[]).forEach(({ attempt }) => deliveryAttempted(attempt))
        );
      }
      if (name === "recordAttempt") return done.then(() => deliveryAttempted(args[0] as Attempt));
      return done;
    };
  }

  return new Proxy(store, {
    get(target, name) {
      const known = observed.get(name);
      if (known !== undefined) return known;
      const value = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      const method = observe(name, value);
      observed.set(name, method);
      return method;
    },
  });
}

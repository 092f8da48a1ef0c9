import type { Store } from "../../lib/store/store.ts";

/** What a store has calls of. */
export const STORE_NOUNS = [
  "network",
  "keys",
  "buckets",
  "submissions",
  "references",
  "intents",
  "leases",
  "sharedState",
  "events",
  "subscriptions",
  "deliveries",
  "transactions",
  "payments",
] as const;

/** What stands around each call of a store, and makes it. */
export type AroundCall = <T>(call: () => Promise<T>) => Promise<T>;

/** The same store, each call of its nouns made by `around`. */
export function wrappedStore(store: Store, around: AroundCall): Store {
  const wrapped = Object.create(store) as Store;
  for (const noun of STORE_NOUNS) {
    const methods = store[noun] as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
    const calls = Object.entries(methods).map(([name, method]) => [
      name,
      (...args: unknown[]) => around(() => method(...args)),
    ]);
    Object.defineProperty(wrapped, noun, { value: Object.fromEntries(calls) });
  }
  return wrapped;
}

import type { Store } from "../../lib/store/store.ts";

/** The life of one gateway in this process. Once it is over nothing it does has any effect, as after SIGKILL. */
export interface Life {
  /** Resolves when it is over. */
  over: Promise<void>;
  readonly isOver: boolean;
  end(): void;
  /** Does one thing in the world: it may die just before, or just after without hearing what came of it. */
  step<T>(act: () => Promise<T>): Promise<T>;
}

const forEver = <T>() => new Promise<T>(() => {});

/** @param steps after so many it is over; each thing done is two */
export function beginLife(steps: number): Life {
  let [left, isOver] = [steps, false];
  let told = () => {};
  const over = new Promise<void>((resolve) => told = resolve);

  function end(): void {
    isOver = true;
    told();
  }

  function pass(): boolean {
    left -= 1;
    if (left <= 0) end();
    return !isOver;
  }

  return {
    over,
    get isOver() {
      return isOver;
    },
    end,
    async step(act) {
      if (!pass()) return await forEver();
      try {
        return await act();
      } finally {
        if (!pass()) await forEver();
      }
    },
  };
}

const NOUNS = [
  "network",
  "keys",
  "buckets",
  "submissions",
  "intents",
  "leases",
  "events",
  "subscriptions",
  "deliveries",
];

/** A store as one gateway sees it, for as long as that lives. */
export function mortalStore(store: Store, life: Life): Store {
  const mortal = Object.create(store) as Store;
  for (const noun of NOUNS) {
    const methods = store[noun as keyof Store] as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
    const wrapped = Object.entries(methods).map(([name, method]) => [
      name,
      (...args: unknown[]) => life.step(() => method(...args)),
    ]);
    Object.defineProperty(mortal, noun, { value: Object.fromEntries(wrapped) });
  }
  return mortal;
}

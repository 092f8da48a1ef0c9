import type { Wait } from "../../clock.ts";
import type { Store } from "../../store/store.ts";
import type { Settlement } from "../../store/webhook_store.ts";

export interface SettlerParts {
  store: Pick<Store, "settle">;
  wait: Wait;
  /** How long a settlement waits for others to share its commit with, in milliseconds. */
  gatherMs: number;
  /** Called with what has been written. */
  onSettled(settlements: Settlement[]): void;
  /** Told when the store fails after a commit that it did not. */
  onProblem(cause: unknown): void;
}

/** Writes down what attempts came to, many in one commit. */
export interface Settler {
  add(settlement: Settlement): void;
  /** How many are not written yet. */
  readonly size: number;
  /** Resolves when all are written, or the store has failed on them so often that they are given up: they are made again. */
  drain(): Promise<void>;
}

/** The most settlements of one commit (`Store.settle`). */
const COMMIT_SIZE = 100;
const PAUSE_MS = 1_000;
const TRIES_WHEN_DRAINING = 3;

export function createSettler({ store, wait, gatherMs, onSettled, onProblem }: SettlerParts): Settler {
  let pending: Settlement[] = [];
  let running: Promise<void> | undefined;
  let gathering = new AbortController();
  let isDraining = false;

  async function run(): Promise<void> {
    let failures = 0;
    while (pending.length > 0) {
      if (pending.length < COMMIT_SIZE && !isDraining) {
        gathering = new AbortController();
        await wait(gatherMs, gathering.signal);
      }
      const batch = pending.slice(0, COMMIT_SIZE);
      try {
        await store.settle(batch);
        failures = 0;
        pending = pending.slice(batch.length);
        onSettled(batch);
      } catch (cause) {
        if (failures++ === 0) onProblem(cause);
        if (isDraining && failures >= TRIES_WHEN_DRAINING) return;
        await wait(PAUSE_MS);
      }
    }
  }

  function ensureRunning(): void {
    running ??= run().finally(() => {
      running = undefined;
      if (pending.length > 0 && !isDraining) ensureRunning();
    });
  }

  return {
    add(settlement) {
      pending.push(settlement);
      if (pending.length >= COMMIT_SIZE) gathering.abort();
      ensureRunning();
    },
    get size() {
      return pending.length;
    },
    async drain() {
      isDraining = true;
      gathering.abort();
      ensureRunning();
      await running;
    },
  };
}

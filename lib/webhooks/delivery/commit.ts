/*
 * Commits the outcomes of posts in batches, one after the other. `settlement.ts` builds a batch; `worker.ts` reacts to
 * a commit, and to a lost lease.
 */

import type { Clock } from "../../clock.ts";
import { isFenced, type Store } from "../../store/store.ts";
import { MAX_SETTLED_WRITES, type Settlement } from "../../store/webhook.ts";
import { type Consumer, isClosed } from "./consumer.ts";
import { leaveOutStored, type Outcome, settlementsOf, writesOf } from "./settlement.ts";

export interface CommitParts {
  store: Pick<Store, "deliveries">;
  clock: Clock;
  /** How long an outcome waits for others to share its commit. */
  gatherMs: number;
  /** Called before a retried commit; closes consumers that are no longer this process's. */
  beforeRetry(): Promise<unknown>;
  /** Called when another process has the lease of some of these consumers; closes those. */
  fenced(consumers: Consumer[]): Promise<void>;
  /** Called when a batch is committed, or its consumers are closed. */
  committed(outcomes: Outcome[]): void;
  onProblem(message: string, cause?: unknown): void;
}

/** Commits outcomes of posts, many at a time, in order. */
export interface Commits {
  add(outcome: Outcome): void;
  /** How many outcomes are not committed. */
  readonly size: number;
  /** Whether any of them belongs to this partition. */
  isPending(partition: number): boolean;
  /** Commits all at once. Gives up after a few tries: uncommitted deliveries are made again. */
  drain(): Promise<void>;
}

const PAUSE_MS = 1_000;
const TRIES_WHEN_DRAINING = 3;

export function createCommits(parts: CommitParts): Commits {
  const { store, clock, gatherMs } = parts;
  /** Uncommitted outcomes, and how many writes they take. */
  let waiting: Outcome[] = [];
  let size = 0;
  let running: Promise<void> | undefined;
  let pause = new AbortController();
  let isDraining = false;

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      if (size < MAX_SETTLED_WRITES && !isDraining) {
        pause = new AbortController();
        await clock.wait(gatherMs, pause.signal);
      }
      const batch = firstThatFit(waiting);
      if (!await write(batch)) return;
      waiting = waiting.slice(batch.length);
      size = waiting.reduce((total, outcome) => total + writesOf(outcome), 0);
      parts.committed(batch);
    }
  }

  /** Retries until the batch is committed; false when it gives up. */
  async function write(batch: Outcome[]): Promise<boolean> {
    const settlements = settlementsOf(batch.filter(({ consumer }) => !isClosed(consumer)));
    for (let failures = 0;; failures++) {
      try {
        if (failures > 0) await parts.beforeRetry();
        return await tryWrite(settlements, failures > 0);
      } catch (cause) {
        if (!isFenced(cause) && failures === 0) {
          parts.onProblem("webhook attempts cannot be committed; retrying", cause);
        }
        if (isDraining && failures >= TRIES_WHEN_DRAINING) return false;
        if (failures > 0) await clock.wait(PAUSE_MS);
      }
    }
  }

  async function tryWrite(all: Map<Consumer, Settlement>, isRetry: boolean): Promise<true> {
    const own = new Map([...all].filter(([consumer]) => !isClosed(consumer)));
    if (isRetry) await leaveOutStored(store, own.values());
    if (own.size === 0) return true;
    const leases = [...new Set([...own.keys()].map(({ lease }) => lease))];
    try {
      await store.deliveries.settle({ leases, settlements: [...own.values()] });
    } catch (cause) {
      if (isFenced(cause)) await parts.fenced([...own.keys()]);
      throw cause;
    }
    for (const [{ cursor }, settlement] of own) cursor.written = Math.max(cursor.written, settlement.cursor ?? 0);
    return true;
  }

  function ensureRunning(): void {
    running ??= run().finally(() => {
      running = undefined;
      if (waiting.length > 0 && !isDraining) ensureRunning();
    });
  }

  return {
    add(outcome) {
      waiting.push(outcome);
      size += writesOf(outcome);
      if (size >= MAX_SETTLED_WRITES) pause.abort();
      ensureRunning();
    },
    get size() {
      return waiting.length;
    },
    isPending: (partition) => waiting.some(({ consumer }) => consumer.partition === partition),
    async drain() {
      isDraining = true;
      pause.abort();
      ensureRunning();
      await running;
    },
  };
}

function firstThatFit(outcomes: Outcome[]): Outcome[] {
  let room = MAX_SETTLED_WRITES;
  const end = outcomes.findIndex((outcome) => (room -= writesOf(outcome)) < 0);
  return outcomes.slice(0, end < 0 ? undefined : end);
}

/*
 * Commits the outcomes of posts in batches, one after the other. `worker.ts` reacts to a commit, and to a lost lease.
 */

import type { Clock } from "../../clock.ts";
import { isFenced, type Store } from "../../store/store.ts";
import { attemptWrites, MAX_SETTLED_WRITES, type NewAttempt, type Settlement, WRITES } from "../../store/webhook.ts";
import { ATTEMPT_PAGE_SIZE, storedAttempts } from "../failed_deliveries.ts";
import { type Consumer, isClosed, scannedTo, type Settled } from "./consumer.ts";
import { positionOf, type ReplayCursor } from "./cursor.ts";

/** The outcome of a post, or a moved cursor, to be committed. */
export interface Outcome {
  consumer: Consumer;
  /** The finished delivery; absent when there is only an attempt or a cursor. */
  delivery?: Settled;
  attempt?: NewAttempt;
  /** A replay that is done. */
  ended?: ReplayCursor;
}

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

const PAUSE_MS = 1_000;
const TRIES_WHEN_DRAINING = 3;

/** Commits outcomes of posts, many at a time, in order. */
export function createCommits(parts: CommitParts) {
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
        await tryWrite([...settlements].filter(([consumer]) => !isClosed(consumer)), failures > 0);
        return true;
      } catch (cause) {
        if (!isFenced(cause) && failures === 0) {
          parts.onProblem("webhook attempts cannot be committed; retrying", cause);
        }
        if (isDraining && failures >= TRIES_WHEN_DRAINING) return false;
        if (failures > 0) await clock.wait(PAUSE_MS);
      }
    }
  }

  async function tryWrite(own: [Consumer, Settlement][], isRetry: boolean): Promise<void> {
    if (isRetry) await leaveOutStored(store, own.map(([, settlement]) => settlement));
    if (own.length === 0) return;
    const leases = [...new Set(own.map(([{ lease }]) => lease))];
    try {
      await store.deliveries.settle({ leases, settlements: own.map(([, settlement]) => settlement) });
    } catch (cause) {
      if (isFenced(cause)) await parts.fenced(own.map(([consumer]) => consumer));
      throw cause;
    }
    for (const [{ cursor }, settlement] of own) cursor.written = Math.max(cursor.written, settlement.cursor ?? 0);
  }

  function ensureRunning(): void {
    running ??= run().finally(() => {
      running = undefined;
      if (waiting.length > 0 && !isDraining) ensureRunning();
    });
  }

  return {
    add(outcome: Outcome): void {
      waiting.push(outcome);
      size += writesOf(outcome);
      if (size >= MAX_SETTLED_WRITES) pause.abort();
      ensureRunning();
    },
    /** How many outcomes are not committed. */
    get size() {
      return waiting.length;
    },
    /** Whether any of them belongs to this partition. */
    isPending: (partition: number) => waiting.some(({ consumer }) => consumer.partition === partition),
    /** Commits all at once. Gives up after a few tries: uncommitted deliveries are made again. */
    async drain(): Promise<void> {
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

/** The most writes that it takes, including one for the cursor. */
function writesOf({ consumer, delivery, attempt }: Outcome): number {
  const writes = WRITES.cursor + (attempt === undefined ? 0 : attemptWrites(attempt));
  if (delivery?.failed !== undefined) return writes + WRITES.failed;
  return delivery !== undefined && consumer.dueAtMs !== undefined ? writes + WRITES.delivered : writes;
}

/** The settlements of these outcomes, one per consumer. Their cursors may pass them from now on. */
export function settlementsOf(outcomes: Outcome[]): Map<Consumer, Settlement> {
  const settlements = new Map<Consumer, Settlement>();
  for (const { consumer, delivery, attempt, ended } of outcomes) {
    let settlement = settlements.get(consumer);
    if (settlement === undefined) {
      settlement = { subscriptionId: consumer.subscription.id, attempts: [] };
      settlements.set(consumer, settlement);
    }
    if (attempt !== undefined) settlement.attempts.push(attempt);
    if (ended !== undefined) settlement.replay = { id: ended.id, cursor: positionOf(ended), done: true };
    if (delivery === undefined) continue;
    const { sequence, cursor, failed } = delivery;
    cursor?.open.delete(sequence);
    if (failed !== undefined) (settlement.failed ??= []).push(failed);
    else if (consumer.dueAtMs !== undefined) (settlement.delivered ??= []).push(sequence);
  }
  for (const [consumer, settlement] of settlements) addProgress(consumer, settlement);
  return settlements;
}

function addProgress(consumer: Consumer, settlement: Settlement): void {
  const { cursor, replay, failingSinceMs } = consumer;
  settlement.failingSinceMs = failingSinceMs;
  const position = positionNow(consumer);
  if (position > cursor.saved) settlement.cursor = cursor.saved = position;
  if (!replay?.isOpen || settlement.replay !== undefined) return;
  const replayed = positionOf(replay);
  if (replayed > replay.saved) settlement.replay = { id: replay.id, cursor: replay.saved = replayed, done: false };
}

/** Removes attempts that are stored already: the commit whose answer was lost may have been made. */
async function leaveOutStored(store: Pick<Store, "deliveries">, settlements: Settlement[]): Promise<void> {
  const keyOf = ({ replayId, eventId, number, atMs, durationMs }: NewAttempt) =>
    [replayId, eventId, number, atMs, durationMs].join();
  for (const settlement of settlements) {
    if (settlement.attempts.length === 0) continue;
    const stored = new Set<string>();
    // A few tests may have been stored since.
    const most = settlement.attempts.length + ATTEMPT_PAGE_SIZE;
    for await (const attempt of storedAttempts(store, settlement.subscriptionId)) {
      stored.add(keyOf(attempt));
      if (stored.size >= most) break;
    }
    settlement.attempts = settlement.attempts.filter((attempt) => !stored.has(keyOf(attempt)));
  }
}

/** All events up to here are finished or do not match. */
export function positionNow(consumer: Consumer): number {
  return positionOf({ open: consumer.cursor.open, scannedTo: scannedTo(consumer) });
}

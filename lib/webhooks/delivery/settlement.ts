import type { Store } from "../../store/store.ts";
import { type FailedDelivery, type NewAttempt, type Settlement, WRITES } from "../../store/webhook.ts";
import { ATTEMPT_PAGE_SIZE, storedAttempts } from "../failed_deliveries.ts";
import { type Consumer, type Delivery, keep, type Post, scannedTo, type Settled } from "./consumer.ts";
import { isDone, positionOf } from "./cursor.ts";
import { isKnownToFail } from "./endpoint.ts";
import { MAX_AGE_MS } from "./schedule.ts";

/** The outcome of a post, or a moved cursor, to be committed. */
export interface Outcome {
  consumer: Consumer;
  /** The finished delivery; absent when there is only an attempt or a cursor. */
  delivery?: Settled;
  attempt?: NewAttempt;
}

/** The most writes that it takes, including one for the cursor. */
export function writesOf({ consumer, delivery, attempt }: Outcome): number {
  const writes = attempt === undefined ? 1 : 1 + WRITES.attempt;
  if (delivery?.failed !== undefined) return writes + WRITES.failed;
  return delivery !== undefined && consumer.dueAtMs !== undefined ? writes + WRITES.delivered : writes;
}

/** The settlements of these outcomes, one per consumer. Their cursors may pass them from now on. */
export function settlementsOf(outcomes: Outcome[]): Map<Consumer, Settlement> {
  const settlements = new Map<Consumer, Settlement>();
  for (const { consumer, delivery, attempt } of outcomes) {
    let settlement = settlements.get(consumer);
    if (settlement === undefined) {
      settlement = { subscriptionId: consumer.subscription.id, attempts: [] };
      settlements.set(consumer, settlement);
    }
    if (attempt !== undefined) settlement.attempts.push(attempt);
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
  if (replay === undefined || replay.state === "ended") return;
  const replayed = positionOf(replay);
  const done = isDone(replay);
  if (replayed <= replay.saved && !done) return;
  settlement.replay = { id: replay.id, cursor: replayed, done };
  replay.saved = replayed;
  if (done) replay.state = "saved";
}

/** All events up to here are finished or do not match. */
export function positionNow(consumer: Consumer): number {
  return positionOf({ open: consumer.cursor.open, scannedTo: scannedTo(consumer) });
}

/** How long a delivery has been pending, by network time. So steps of our own clock do not age it. */
export function ageOf({ event, failed, replayId }: Delivery, networkMs: number): number {
  return replayId !== null ? 0 : networkMs - (failed?.failedAtMs ?? event.knownAt * 1_000);
}

/** Gives up deliveries that are days old while the endpoint is down. */
export function giveUpOld(consumer: Consumer, networkMs: number): Outcome[] {
  if (!isKnownToFail(consumer.endpoint) || consumer.posts > 0) return [];
  const isOld = (one: Delivery) => ageOf(one, networkMs) >= MAX_AGE_MS;
  const old = consumer.ready.filter(isOld);
  if (old.length === 0) return [];
  consumer.ready = consumer.ready.filter((one) => !isOld(one));
  keep(consumer, Infinity);
  return old.map(({ event: { sequence }, failed: before, cursor }) => {
    if (cursor !== undefined) cursor.takenTo = Math.max(cursor.takenTo, sequence);
    const { attempts, failedAtMs } = before ?? { attempts: 0, failedAtMs: networkMs };
    const failed = { sequence, state: "dead" as const, attempts, dueAtMs: null, failedAtMs, attemptedAtMs: 0 };
    return { consumer, delivery: { sequence, cursor, failed } };
  });
}

/** The failed delivery after a failed attempt. @param networkMs network time, Unix ms */
export function failedDelivery(
  { event, failed: before }: Post,
  made: NewAttempt,
  { nowMs, networkMs }: { nowMs: number; networkMs: number },
): FailedDelivery {
  return {
    sequence: event.sequence,
    state: made.outcome === "retry" ? "retrying" : made.outcome === "rejected" ? "rejected" : "dead",
    attempts: (before?.attempts ?? 0) + 1,
    dueAtMs: made.nextAttemptAtMs,
    // An event of the first ledgers may be known before any close time.
    failedAtMs: before?.failedAtMs ?? Math.max(networkMs, event.knownAt * 1_000),
    attemptedAtMs: nowMs,
  };
}

/** Removes attempts that are stored already: a failed commit may have been made. */
export async function leaveOutStored(
  store: Pick<Store, "deliveries">,
  settlements: Iterable<Settlement>,
): Promise<void> {
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

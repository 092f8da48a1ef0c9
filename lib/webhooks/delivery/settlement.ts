import type { Store } from "../../store/store.ts";
import { type FailedDelivery, type NewAttempt, type Settlement, WRITES } from "../../store/webhook.ts";
import { type Consumer, type Delivery, keep, type Post, scannedTo, type Settled } from "./consumer.ts";
import { isDone, positionOf } from "./cursor.ts";
import { isKnownToFail } from "./endpoint.ts";
import { MAX_AGE_MS } from "./schedule.ts";

/** What a post came to, or that a cursor has moved: waits to be committed. */
export interface Outcome {
  consumer: Consumer;
  /** The delivery is done with; absent: only the attempt, or only the cursor. */
  delivery?: Settled;
  attempt?: NewAttempt;
}

/** How many writes it takes at most, one for the cursor among them. */
export function writesOf({ consumer, delivery, attempt }: Outcome): number {
  const writes = attempt === undefined ? 1 : 1 + WRITES.attempt;
  if (delivery?.failed !== undefined) return writes + WRITES.failed;
  return delivery !== undefined && consumer.dueAtMs !== undefined ? writes + WRITES.delivered : writes;
}

/** What is to be committed of these outcomes: from here on the cursors may pass them. One for each consumer. */
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

/** Everything up to here is done with, or does not match. */
export function positionNow(consumer: Consumer): number {
  return positionOf({ open: consumer.cursor.open, scannedTo: scannedTo(consumer) });
}

/** How long a delivery has been owed, by the network's clock: no step of this machine's makes it old. */
export function ageOf({ event, failed, replayId }: Delivery, networkMs: number): number {
  return replayId !== null ? 0 : networkMs - (failed?.failedAtMs ?? event.knownAt * 1_000);
}

/** While an endpoint is down, what has waited for days is given up without an attempt of its own. */
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

/** What is kept of a delivery after an attempt that failed. @param networkMs the network's clock, Unix ms */
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
    // An event of the very first ledgers may be known before any close time is confirmed.
    failedAtMs: before?.failedAtMs ?? Math.max(networkMs, event.knownAt * 1_000),
    attemptedAtMs: nowMs,
  };
}

/** So many attempts are read at a time. */
const PAGE = 200;

/** Leaves out attempts that are noted already: of a commit that failed it is not known whether it was made. */
export async function leaveOutNoted(
  { deliveries }: Pick<Store, "deliveries">,
  settlements: Iterable<Settlement>,
): Promise<void> {
  const keyOf = ({ replayId, eventId, number, atMs, durationMs }: NewAttempt) =>
    [replayId, eventId, number, atMs, durationMs].join();
  for (const settlement of settlements) {
    const noted = new Set<string>();
    // A few tests may have been noted since.
    const most = settlement.attempts.length === 0 ? 0 : settlement.attempts.length + PAGE;
    let before: number | undefined;
    while (noted.size < most) {
      const page = await deliveries.attempts(settlement.subscriptionId, { before, limit: PAGE });
      for (const attempt of page) noted.add(keyOf(attempt));
      if (page.length < PAGE) break;
      before = page.at(-1)!.ordinal;
    }
    settlement.attempts = settlement.attempts.filter((attempt) => !noted.has(keyOf(attempt)));
  }
}

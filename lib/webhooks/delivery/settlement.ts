import type { Store } from "../../store/store.ts";
import { type FailedDelivery, type NewAttempt, type Settlement, WRITES } from "../../store/webhook.ts";
import type { Consumer, Post } from "./consumer.ts";
import { type Cursor, isDone, positionOf } from "./cursor.ts";

/** What a post came to, or that a cursor has moved: waits to be committed. */
export interface Outcome {
  consumer: Consumer;
  /** The delivery is done with; absent: only the attempt, or only the cursor. */
  delivery?: {
    sequence: number;
    cursor: Cursor | undefined;
    /** Undefined: it was delivered. */
    failed: FailedDelivery | undefined;
  };
  attempt?: NewAttempt;
}

/** How many writes it takes at most, one for the cursor among them. */
export function writesOf({ consumer, delivery, attempt }: Outcome): number {
  const writes = attempt === undefined ? 1 : 1 + WRITES.attempt;
  if (delivery?.failed !== undefined) return writes + WRITES.failed;
  return delivery !== undefined && consumer.isAnyKept ? writes + WRITES.delivered : writes;
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
    else if (consumer.isAnyKept) (settlement.delivered ??= []).push(sequence);
  }
  for (const [consumer, settlement] of settlements) addProgress(consumer, settlement);
  return settlements;
}

function addProgress({ cursor, replay, failingSinceMs }: Consumer, settlement: Settlement): void {
  settlement.failingSinceMs = failingSinceMs;
  const position = positionOf(cursor);
  if (position > cursor.saved) settlement.cursor = cursor.saved = position;
  if (replay === undefined) return;
  const replayed = positionOf(replay);
  const done = isDone(replay);
  if (replayed <= replay.saved && !done) return;
  settlement.replay = { id: replay.id, cursor: replayed, done };
  replay.saved = replayed;
  if (done) replay.state = "saved";
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

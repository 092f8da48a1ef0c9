import { type FailedDelivery, type NewAttempt, type Settlement, WRITES } from "../../store/webhook.ts";
import type { Store } from "../../store/store.ts";
import { cursorOf, type DeliveryReader, isDown, type Post, type Track } from "./reader.ts";
import { MAX_AGE_MS } from "./schedule.ts";

/** What a post came to, or that a cursor has moved: waits to be written down. */
export interface Outcome {
  reader: DeliveryReader;
  /** The delivery is done with; absent: only the attempt, or only the cursor. */
  delivery?: {
    sequence: number;
    track: Track | undefined;
    /** It stands for what was kept of it and taken to be posted again. */
    isAgain: boolean;
    /** Undefined: it was delivered. */
    failed: FailedDelivery | undefined;
  };
  attempt?: NewAttempt;
  /** How often the clock had been set back when its next attempt was reckoned; absent: none was. */
  stepsBack?: number;
}

/** How many writes it takes at most, one for the cursor among them. */
export function writesOf({ reader, delivery, attempt }: Outcome): number {
  const writes = attempt === undefined ? 1 : 1 + WRITES.attempt;
  if (delivery?.failed !== undefined) return writes + WRITES.failed;
  return delivery !== undefined && reader.hasFailed ? writes + WRITES.delivered : writes;
}

/**
 * What is to be written of these outcomes: from here on the cursors may pass them. Cursors stand before the first
 * delivery that is not among what was given to this function yet.
 */
export function settlementsOf(outcomes: Outcome[]): Settlement[] {
  const settlements = new Map<DeliveryReader, Settlement>();
  for (const { reader, delivery, attempt } of outcomes) {
    let settlement = settlements.get(reader);
    if (settlement === undefined) {
      settlement = { subscriptionId: reader.subscription.id, attempts: [] };
      settlements.set(reader, settlement);
    }
    if (attempt !== undefined) settlement.attempts.push(attempt);
    if (delivery === undefined) continue;
    delivery.track?.outstanding.delete(delivery.sequence);
    const { sequence, failed } = delivery;
    if (failed !== undefined) {
      (settlement.failed ??= []).push(failed);
      continue;
    }
    // A replay has sent it right after it failed.
    settlement.failed = settlement.failed?.filter((before) => before.sequence !== sequence);
    if (reader.hasFailed) (settlement.delivered ??= []).push(sequence);
  }
  for (const [reader, settlement] of settlements) {
    settlement.failingSinceMs = reader.failingSinceMs;
    const cursor = cursorOf(reader.log);
    if (cursor > reader.log.savedCursor) settlement.cursor = reader.log.savedCursor = cursor;
    const { replay } = reader;
    if (replay === undefined) continue;
    const replayed = cursorOf(replay);
    const done = isDone(replay);
    if (replayed > replay.savedCursor || done) {
      settlement.replay = { id: replay.id, cursor: replayed, done };
      replay.savedCursor = replayed;
      replay.isEndGiven = done;
    }
  }
  return [...settlements.values()];
}

/** So many attempts are read at a time. */
const PAGE = 200;

/** Leaves out attempts that are noted already: of a commit that failed it is not known whether it was made. */
export async function leaveOutNoted(
  { deliveries }: Pick<Store, "deliveries">,
  settlements: Settlement[],
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

/** Whether a replay has sent all that it is about, and all of it is written down. */
export function isDone(replay: NonNullable<DeliveryReader["replay"]>): boolean {
  return replay.readThrough >= replay.endSequence && replay.queue.length === 0 && replay.outstanding.size === 0;
}

/** What is kept of a delivery after an attempt that failed. @param networkMs the network's clock, Unix ms */
export function failedDelivery({ event, again }: Post, made: NewAttempt, networkMs: number): FailedDelivery {
  const state = made.outcome === "retry" ? "retrying" : made.outcome === "rejected" ? "rejected" : "dead";
  // An event of the very first ledgers may be known before any close time is confirmed.
  const { attempts, failedAtMs } = again ?? { attempts: 0, failedAtMs: Math.max(networkMs, event.knownAt * 1_000) };
  return { sequence: event.sequence, state, attempts: attempts + 1, dueAtMs: made.nextAttemptAtMs, failedAtMs };
}

/** How long a delivery has been owed, by the network's clock: no step of this machine's makes it old. */
export function ageOf({ event, again, replayId }: Post, networkMs: number): number {
  if (replayId !== null) return 0;
  return networkMs - (again?.failedAtMs ?? event.knownAt * 1_000);
}

/** Takes what has waited for days for an endpoint that is down: it is given up without an attempt of its own. */
export function takeOld(reader: DeliveryReader, networkMs: number): NonNullable<Outcome["delivery"]>[] {
  const old: NonNullable<Outcome["delivery"]>[] = [];
  if (!isDown(reader) || !reader.isKnownToFail || reader.inFlight > 0) return old;
  const { log, due } = reader;
  const giveUp = (sequence: number, track: Track | undefined, attempts: number, failedAtMs: number) =>
    old.push({
      sequence,
      track,
      isAgain: track === undefined,
      failed: { sequence, state: "dead", attempts, dueAtMs: null, failedAtMs },
    });
  while (log.queue.length > 0 && networkMs - log.queue[0]!.knownAt * 1_000 >= MAX_AGE_MS) {
    const { sequence } = log.queue.shift()!;
    log.outstanding.add(sequence);
    giveUp(sequence, log, 0, networkMs);
  }
  while (due.length > 0 && networkMs - due[0]!.delivery.failedAtMs >= MAX_AGE_MS) {
    const { sequence, attempts, failedAtMs } = due.shift()!.delivery;
    giveUp(sequence, undefined, attempts, failedAtMs);
  }
  return old;
}

import type { LoggedEvent } from "../../store/event.ts";
import { type FailedDelivery, isDue, type NextDelivery } from "../../store/webhook.ts";
import { type Consumer, type Delivery, fallBehind, keep, type Post } from "./consumer.ts";
import type { Cursor } from "./cursor.ts";
import { isProbed, probedAmong } from "./endpoint.ts";

/**
 * The queue of a consumer: deliveries that it has read and not posted. Decides which comes next, and which go back to
 * the store.
 */

/** How many deliveries are read ahead for a consumer. */
export const READ_AHEAD = 64;

/** Adds new events of a cursor, and failed deliveries that are due. */
export function enqueue(consumer: Consumer, failed: FailedEvent[], events: LoggedEvent[], cursor: Cursor): void {
  const replayId = cursor === consumer.replay ? consumer.replay.id : null;
  for (const event of events) cursor.open.add(event.sequence);
  const retried = failed.map((one): Delivery => ({ ...one, cursor: undefined, replayId: null }));
  const fresh = events.map((event): Delivery => ({ event, failed: null, cursor, replayId }));
  for (const { event } of [...retried, ...fresh]) consumer.inFlight.add(event.sequence);
  const waiting = [...consumer.ready, ...fresh];
  consumer.ready = retried.length === 0 ? waiting : inTurns(retried, waiting);
}

/** A failed delivery with its event. */
type FailedEvent = NextDelivery & { failed: FailedDelivery };

/** Alternates, so that many of one kind do not delay the other. */
function inTurns(some: Delivery[], others: Delivery[]): Delivery[] {
  const all: Delivery[] = [];
  for (let n = 0; n < Math.max(some.length, others.length); n++) {
    if (n < some.length) all.push(some[n]!);
    if (n < others.length) all.push(others[n]!);
  }
  return all;
}

/** New events and retries alternate, because the endpoint may fail at one kind only. */
function nextPlace({ endpoint, ready, turn: { wasRetry } }: Consumer): number {
  if (isProbed(endpoint, false)) return probedAmong(endpoint, ready.length);
  return Math.max(0, ready.findIndex(({ failed }) => (failed === null) === wasRetry));
}

/** Takes the next delivery. */
export function take(consumer: Consumer, nowMs: number): Post {
  const { subscription: { ordered }, endpoint, ready } = consumer;
  const delivery = ready.splice(ordered ? 0 : nextPlace(consumer), 1)[0]!;
  const { cursor, failed, event } = delivery;
  consumer.turn.wasRetry = failed !== null;
  if (cursor !== undefined) cursor.takenTo = Math.max(cursor.takenTo, event.sequence);
  // An ordered consumer waits at a new event until that is days old. A replayed event does not age.
  const isProbe = failed === null ? isProbed(endpoint, ordered && cursor === consumer.cursor) : !isDue(failed, nowMs);
  return { ...delivery, isProbe };
}

/** Puts back a delivery without an attempt, or after a failed probe. The store returns a failed one again. */
export function requeue(consumer: Consumer, { event, failed, cursor, replayId }: Post): void {
  if (failed !== null) {
    consumer.inFlight.delete(event.sequence);
    keep(consumer, failed.dueAtMs!);
    return;
  }
  const { ready } = consumer;
  const later = ready.findIndex((one) => one.cursor === cursor && one.event.sequence > event.sequence);
  ready.splice(later < 0 ? ready.length : later, 0, { event, failed, cursor, replayId });
}

/** After a failure, drops the deliveries after the last one taken. The store returns them again. */
export function rewind(consumer: Consumer): void {
  const { cursor, inFlight, ready } = consumer;
  const isTaken = (one: Delivery) => one.cursor !== undefined && one.event.sequence < one.cursor.takenTo;
  consumer.ready = ready.filter(isTaken);
  for (const { event: { sequence }, cursor: of } of ready.filter((one) => !isTaken(one))) {
    inFlight.delete(sequence);
    if (of === undefined) {
      keep(consumer, 0);
      continue;
    }
    of.open.delete(sequence);
    if (of === cursor) fallBehind(consumer);
    of.scannedTo = Math.min(of.scannedTo, sequence - 1);
  }
}

/** Drops deleted events, which the store has counted. */
export function forget(consumer: Consumer, forgotten: number): void {
  const { ready, inFlight } = consumer;
  if (!ready.some(({ event }) => event.sequence <= forgotten)) return;
  consumer.ready = ready.filter(({ event }) => event.sequence > forgotten);
  for (const { event: { sequence }, cursor } of ready) {
    if (sequence > forgotten) continue;
    inFlight.delete(sequence);
    cursor?.open.delete(sequence);
  }
}

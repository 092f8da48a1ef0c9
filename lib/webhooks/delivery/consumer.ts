import type { EventFilter, LoggedEvent } from "../../store/event.ts";
import type { Lease } from "../../store/store.ts";
import {
  type FailedDelivery,
  filterOf,
  isDue,
  type NextDelivery,
  type Reader,
  type Subscription,
} from "../../store/webhook.ts";
import type { Recipient } from "./attempt.ts";
import { type Cursor, cursorAt, openReplay, type ReplayCursor } from "./cursor.ts";
import { type Endpoint, isProbed, probedAmong, readyAt, unknownEndpoint, windowOf } from "./endpoint.ts";

/** One delivery that is to be posted. */
export interface Delivery extends NextDelivery {
  /** What it was read behind; undefined: it failed before. */
  cursor: Cursor | undefined;
  replayId: string | null;
}

/** One delivery on its way. `isProbe`: it asks whether the endpoint is back; a failure uses up no attempt. */
export interface Post extends Delivery {
  isProbe: boolean;
}

/** A subscription at work. Times called `…At` are monotonic milliseconds. */
export interface Consumer {
  subscription: Subscription;
  filter: EventFilter;
  readonly partition: number;
  /** Everything that comes of this consumer is committed under this lease alone. */
  readonly lease: Lease;
  readonly cursor: Cursor;
  /** It has all events of the log, and is handed new ones. */
  isAtEnd: boolean;
  replay: ReplayCursor | undefined;
  /** A replay that was listed before its end was committed does not begin again. */
  endedReplayId: string | undefined;
  /** Sequences that were taken from the store, and of which nothing is committed yet. */
  readonly inFlight: Set<number>;
  /** Those of them that are not posted yet, in the order in which they are. */
  ready: Delivery[];
  /** It was last sent what had failed before. */
  wasRetry: boolean;
  /** How many are being posted. */
  posts: number;
  endpoint: Endpoint;
  /** Unix ms; null: it is well. */
  failingSinceMs: number | null;
  /** When the store is asked for failed deliveries that are due, Unix ms; null: it has none. */
  nextDueAtMs: number | null;
  /** Whether a failed delivery may be kept of it. */
  isAnyKept: boolean;
  /** Whether it may be posted to (`eligibility.ts`). */
  eligibility: { recipient: Recipient | undefined; recipientUntilMs: number; checkedAt: number; isHeldBack: boolean };
  /** Nothing is posted before. */
  notBeforeAt: number;
  /** The store is being asked for it. */
  isAsking: boolean;
  /** Its place among those that wait for a post (`post_queue.ts`). */
  turn: { isWaiting: boolean; postsLeft: number };
  /** Its subscription was deleted, or another process delivers to it. */
  isClosed: boolean;
}

/** So many deliveries are read ahead for each consumer. */
export const READ_AHEAD = 64;
/** A consumer rests for so long when something fails on this side. */
export const PUT_OFF_MS = 5_000;
/** A consumer posts so often before others do: what comes of runs is committed with less work. */
export const POSTS_IN_A_ROW = 32;

export function openConsumer({ subscription, progress, replay }: Reader, partition: number, lease: Lease): Consumer {
  return {
    subscription,
    filter: filterOf(subscription),
    partition,
    lease,
    cursor: cursorAt(progress.cursor),
    isAtEnd: false,
    replay: replay === null ? undefined : openReplay(subscription, replay),
    endedReplayId: undefined,
    inFlight: new Set(),
    ready: [],
    wasRetry: false,
    posts: 0,
    endpoint: unknownEndpoint(progress.failingSinceMs !== null),
    failingSinceMs: progress.failingSinceMs,
    // Whatever the clock has done since: the store says when it is due.
    nextDueAtMs: progress.retrying > 0 ? 0 : null,
    isAnyKept: progress.retrying + progress.rejected + progress.dead > 0,
    eligibility: { recipient: undefined, recipientUntilMs: 0, checkedAt: -Infinity, isHeldBack: false },
    notBeforeAt: -Infinity,
    isAsking: false,
    turn: { isWaiting: false, postsLeft: POSTS_IN_A_ROW },
    isClosed: false,
  };
}

/** Whether something may be posted at this moment. */
export function canPost(consumer: Consumer, nowAt: number): boolean {
  const { endpoint, subscription, ready, posts } = consumer;
  if (consumer.isClosed || ready.length === 0 || nowAt < restsUntil(consumer)) return false;
  return posts < (subscription.ordered ? 1 : windowOf(endpoint));
}

/** Nothing is posted before, monotonic ms. */
export function restsUntil({ endpoint, notBeforeAt }: Consumer): number {
  return Math.max(notBeforeAt, readyAt(endpoint));
}

/** Whether it has nothing to do, and waits for new events alone. */
export function isQuiet({ isAtEnd, isAsking, inFlight, replay, nextDueAtMs }: Consumer): boolean {
  return isAtEnd && !isAsking && inFlight.size === 0 && replay === undefined && nextDueAtMs === null;
}

/** Adds what was read behind a cursor, or failed and is due. */
export function enqueue(consumer: Consumer, failed: FailedEvent[], events: LoggedEvent[], cursor: Cursor): void {
  const replayId = cursor === consumer.replay ? consumer.replay.id : null;
  for (const event of events) cursor.open.add(event.sequence);
  const again = failed.map((one): Delivery => ({ ...one, cursor: undefined, replayId: null }));
  const fresh = events.map((event): Delivery => ({ event, failed: null, cursor, replayId }));
  for (const { event } of [...again, ...fresh]) consumer.inFlight.add(event.sequence);
  const waiting = [...consumer.ready, ...fresh];
  consumer.ready = again.length === 0 ? waiting : inTurns(again, waiting);
}

/** A failed delivery with its event. */
type FailedEvent = NextDelivery & { failed: FailedDelivery };

/** A crowd of the ones does not keep the others waiting. */
function inTurns(some: Delivery[], others: Delivery[]): Delivery[] {
  const all: Delivery[] = [];
  for (let n = 0; n < Math.max(some.length, others.length); n++) {
    if (n < some.length) all.push(some[n]!);
    if (n < others.length) all.push(others[n]!);
  }
  return all;
}

/** What is new and what failed take turns: the endpoint may fail at just the ones, or the others. */
function nextPlace({ endpoint, ready, wasRetry }: Consumer): number {
  if (isProbed(endpoint, false)) return probedAmong(endpoint, ready.length);
  return Math.max(0, ready.findIndex(({ failed }) => (failed === null) === wasRetry));
}

/** Takes what is posted next. */
export function take(consumer: Consumer, nowMs: number): Post {
  const { subscription: { ordered }, endpoint, ready } = consumer;
  const delivery = ready.splice(ordered ? 0 : nextPlace(consumer), 1)[0]!;
  const { cursor, failed, event } = delivery;
  consumer.wasRetry = failed !== null;
  if (cursor !== undefined) cursor.takenTo = Math.max(cursor.takenTo, event.sequence);
  // An ordered one waits at what is new until that is days old; what is replayed does not grow old.
  const isProbe = failed === null ? isProbed(endpoint, ordered && cursor === consumer.cursor) : !isDue(failed, nowMs);
  return { ...delivery, isProbe };
}

/** Puts back what was not attempted after all, or was a probe that failed; a failed delivery is read again. */
export function requeue(consumer: Consumer, { event, failed, cursor, replayId }: Post): void {
  if (failed !== null) {
    consumer.inFlight.delete(event.sequence);
    consumer.nextDueAtMs = Math.min(consumer.nextDueAtMs ?? Infinity, failed.dueAtMs!);
    return;
  }
  const { ready } = consumer;
  const later = ready.findIndex((one) => one.cursor === cursor && one.event.sequence > event.sequence);
  ready.splice(later < 0 ? ready.length : later, 0, { event, failed, cursor, replayId });
}

/** After a failure the store is asked again for all that nothing behind it was taken of. */
export function rewind(consumer: Consumer): void {
  const { cursor, inFlight, ready } = consumer;
  const isTaken = (one: Delivery) => one.cursor !== undefined && one.event.sequence < one.cursor.takenTo;
  consumer.ready = ready.filter(isTaken);
  for (const { event: { sequence }, cursor: of } of ready.filter((one) => !isTaken(one))) {
    inFlight.delete(sequence);
    if (of === undefined) {
      consumer.nextDueAtMs = 0;
      continue;
    }
    of.open.delete(sequence);
    if (of === cursor && consumer.isAtEnd) {
      consumer.isAtEnd = false;
      of.scannedTo = sequence - 1;
    }
    of.scannedTo = Math.min(of.scannedTo, sequence - 1);
  }
}

/** Lets go of what was forgotten, which the store has counted. */
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

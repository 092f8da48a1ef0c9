/*
 * The state of one subscription at work, and its transitions: its queue, and whether it may post or rests. `cursor.ts`
 * has its position, `endpoint.ts` its endpoint's health; `worker.ts` schedules it.
 */

import type { EventFilter } from "../../store/event.ts";
import type { Lease } from "../../store/store.ts";
import {
  type FailedDelivery,
  filterOf,
  isDue,
  type NextDelivery,
  type StoredConsumer,
  type Subscription,
} from "../../store/webhook.ts";
import type { Recipient } from "./attempt.ts";
import { type Cursor, cursorAt, openReplay, positionOf, type ReplayCursor } from "./cursor.ts";
import { type Endpoint, isProbed, probedAmong, readyAt, unknownEndpoint, windowOf } from "./endpoint.ts";

/** One delivery to post. */
export interface Delivery extends NextDelivery {
  /** The cursor that it was read with; undefined for a failed delivery. */
  cursor: Cursor | undefined;
  replayId: string | null;
}

/** One delivery under way. `isProbe`: it tests whether the endpoint is back, and its failure uses no attempt. */
export interface Post extends Delivery {
  isProbe: boolean;
}

/** A finished delivery. */
export interface Settled {
  sequence: number;
  cursor: Cursor | undefined;
  /** Undefined when it was delivered. */
  failed: FailedDelivery | undefined;
}

/** The work of a consumer. */
export type Work =
  /** It has read the whole log and receives new events. */
  | { state: "following"; log: { readonly tail: number } }
  /** It reads the log from its own cursor. */
  | { state: "behind" }
  /** A read of its next deliveries is under way. */
  | { state: "asking" }
  /** It rests until then (monotonic ms). `isHeldBack`: its key is disabled, or its secret cannot be opened. */
  | { state: "waiting"; untilAt: number; isHeldBack: boolean }
  /** Its subscription was deleted, or another process has its lease. */
  | { state: "closed" };

/** One subscription at work. Only the functions of this file change its queue and work. */
export interface Consumer {
  subscription: Subscription;
  filter: EventFilter;
  readonly partition: number;
  /** Every commit of this consumer needs this lease. */
  readonly lease: Lease;
  work: Work;
  readonly cursor: Cursor;
  /** The replay under way, or the last one. A last one that the store still lists does not start again. */
  replay: ReplayCursor | undefined;
  /** Sequences that were read from the store and are not committed. */
  readonly inFlight: Set<number>;
  /** Those of them that wait for a post. New events of a cursor are in their order. */
  ready: Delivery[];
  /** Posts under way. */
  posts: number;
  /** When the store is read for due failed deliveries, Unix ms. Infinity: none retries. Undefined: there is none. */
  dueAtMs: number | undefined;
  endpoint: Endpoint;
  /** Since when the endpoint fails, Unix ms; null when it does not. */
  failingSinceMs: number | null;
  /** The result of the eligibility check (`eligibility.ts`); undefined before it. */
  eligible: Eligible | undefined;
  /** Its turn in the queue for posts (`post_queue.ts`). `wasRetry`: whether its last post was a retry. */
  turn: { isWaiting: boolean; postsLeft: number; wasRetry: boolean };
}

/** A subscription that passed the check at `checkedAt` (monotonic ms). Its secrets sign until `untilMs`. */
export interface Eligible {
  recipient: Recipient;
  untilMs: number;
  checkedAt: number;
}

/** How many posts a consumer makes in a row. Runs of one consumer need fewer writes to commit. */
export const POSTS_IN_A_ROW = 32;

export function openConsumer(
  { subscription, progress, replay }: StoredConsumer,
  partition: number,
  lease: Lease,
): Consumer {
  const { cursor, failingSinceMs, retrying, rejected, dead } = progress;
  return {
    subscription,
    filter: filterOf(subscription),
    partition,
    lease,
    work: { state: "behind" },
    cursor: cursorAt(cursor),
    replay: replay === null ? undefined : openReplay(subscription, replay),
    inFlight: new Set(),
    ready: [],
    posts: 0,
    // The clock may have changed since: the store knows when it is due.
    dueAtMs: retrying > 0 ? 0 : rejected + dead > 0 ? Infinity : undefined,
    endpoint: unknownEndpoint(failingSinceMs !== null),
    failingSinceMs,
    eligible: undefined,
    turn: { isWaiting: false, postsLeft: POSTS_IN_A_ROW, wasRetry: false },
  };
}

/** Updates a consumer after its subscription changed, or a replay began. */
export function renew(consumer: Consumer, { subscription, replay }: StoredConsumer): void {
  consumer.subscription = subscription;
  consumer.eligible = undefined;
  if (replay !== null && replay.id !== consumer.replay?.id) consumer.replay = openReplay(subscription, replay);
}

/** The only way to change `work`. A closed consumer stays closed. */
export function become(consumer: Consumer, work: Work): void {
  if (consumer.work.state === "closed") return;
  consumer.cursor.scannedTo = scannedTo(consumer);
  consumer.work = work;
}

export function isClosed({ work }: Consumer): boolean {
  return work.state === "closed";
}

/** The sequence up to which it has read: the end of the log for a consumer that follows it. */
export function scannedTo({ work, cursor }: Consumer): number {
  return work.state === "following" ? Math.max(cursor.scannedTo, work.log.tail) : cursor.scannedTo;
}

/**
 * Ends an expired wait. A consumer that has read the whole log follows it, unless it is ordered and has a failed
 * delivery.
 */
export function proceed(consumer: Consumer, log: { readonly tail: number }, nowAt: number): void {
  const { cursor, subscription: { ordered } } = consumer;
  if (consumer.work.state === "waiting" && nowAt >= consumer.work.untilAt) become(consumer, { state: "behind" });
  if (consumer.work.state !== "behind" || cursor.scannedTo < log.tail) return;
  if (!ordered || (!isHeldUp(consumer) && !retries(consumer))) become(consumer, { state: "following", log });
}

/** Makes it read the log from its own cursor. */
export function fallBehind(consumer: Consumer): void {
  if (consumer.work.state === "following") become(consumer, { state: "behind" });
}

/** Puts it off after a failure on our side, or holds it back. @param untilAt monotonic ms */
export function putOff(consumer: Consumer, untilAt: number, isHeldBack: boolean): void {
  if (restsUntil(consumer) < untilAt) become(consumer, { state: "waiting", untilAt, isHeldBack });
}

/** Whether it may post now. @param begun posts under way that wait for this answer */
export function canPost(consumer: Consumer, nowAt: number, begun = 0): boolean {
  const { work: { state }, endpoint, subscription, ready, posts } = consumer;
  if (state === "closed" || state === "waiting" || ready.length === 0 || nowAt < readyAt(endpoint)) return false;
  return posts - begun < (subscription.ordered ? 1 : windowOf(endpoint));
}

/** It posts nothing before this time (monotonic ms). */
export function restsUntil({ endpoint, work }: Consumer): number {
  return Math.max(work.state === "waiting" ? work.untilAt : -Infinity, readyAt(endpoint));
}

/** How long until its next known event, in milliseconds. */
export function restOf(consumer: Consumer, nowMs: number, nowAt: number): number {
  const restMs = restsUntil(consumer) - nowAt;
  if (restMs > 0) return restMs;
  const dueInMs = (consumer.dueAtMs ?? Infinity) - nowMs;
  return dueInMs > 0 ? dueInMs : Infinity;
}

/** Whether it has nothing to do before this time, by the wall clock and by the monotonic one. */
export function isIdleUntil(consumer: Consumer, untilMs: number, untilAt: number): boolean {
  const { work, ready, replay, dueAtMs = Infinity } = consumer;
  if ((work.state === "waiting" && work.isHeldBack) || restsUntil(consumer) >= untilAt) return true;
  return work.state === "following" && ready.length === 0 && !replay?.isOpen && dueAtMs >= untilMs;
}

/** Whether an ordered consumer waits for a commit that may hold a failure. */
export function isHeldUp({ inFlight, dueAtMs }: Consumer): boolean {
  return dueAtMs !== undefined && inFlight.size > 0;
}

/** Whether it has a failed delivery to retry, apart from those in flight. */
export function retries({ dueAtMs }: Consumer): boolean {
  return dueAtMs !== undefined && dueAtMs < Infinity;
}

/** Records a failed delivery that is due at this time (Unix ms), or Infinity when it is not retried. */
export function keep(consumer: Consumer, dueAtMs: number): void {
  consumer.dueAtMs = Math.min(consumer.dueAtMs ?? Infinity, dueAtMs);
}

/** Queues deliveries. @param cursor the one that new events were read with */
export function enqueue(consumer: Consumer, deliveries: NextDelivery[], cursor: Cursor): void {
  const replayId = cursor === consumer.replay ? consumer.replay.id : null;
  for (const { event, failed } of deliveries) {
    consumer.inFlight.add(event.sequence);
    if (failed === null) cursor.open.add(event.sequence);
    consumer.ready.push(
      failed === null ? { event, failed, cursor, replayId } : {
        ...{ event, failed },
        ...{ cursor: undefined, replayId: null },
      },
    );
  }
}

/** New events and retries alternate, and probes rotate: the endpoint may fail at one kind, or at one event, only. */
function nextPlace({ subscription: { ordered }, endpoint, ready, turn: { wasRetry } }: Consumer): number {
  if (ordered) return 0;
  if (isProbed(endpoint, false)) return probedAmong(endpoint, ready.length);
  return Math.max(0, ready.findIndex(({ failed }) => (failed === null) === wasRetry));
}

/** Takes the next delivery. */
export function take(consumer: Consumer, nowMs: number): Post {
  const { subscription: { ordered }, endpoint, ready } = consumer;
  const delivery = ready.splice(nextPlace(consumer), 1)[0]!;
  const { cursor, failed } = delivery;
  consumer.turn.wasRetry = failed !== null;
  // An ordered consumer waits at a new event until that is days old. A replayed event does not age.
  const isProbe = failed === null ? isProbed(endpoint, ordered && cursor === consumer.cursor) : !isDue(failed, nowMs);
  return { ...delivery, isProbe };
}

/** Empties its queue: the store returns these deliveries again. A failed probe is one of them. */
export function requeue(consumer: Consumer, ...probe: Post[]): void {
  const { inFlight, ready } = consumer;
  consumer.ready = [];
  for (const { event: { sequence }, cursor } of [...probe, ...ready]) {
    inFlight.delete(sequence);
    if (cursor === undefined) {
      keep(consumer, 0);
      continue;
    }
    if (cursor === consumer.cursor) fallBehind(consumer);
    cursor.open.delete(sequence);
    cursor.requeued += 1;
    cursor.scannedTo = Math.min(cursor.scannedTo, sequence - 1);
  }
}

/** Records a commit. From now on the store returns a retried delivery again. */
export function settled(consumer: Consumer, deliveries: Settled[], nowMs: number): void {
  for (const { sequence, cursor, failed } of deliveries) {
    consumer.inFlight.delete(sequence);
    cursor?.beyond.add(sequence);
    if (failed?.state === "retrying") keep(consumer, isDue(failed, nowMs) ? 0 : failed.dueAtMs!);
  }
  forgetPassed(consumer.cursor, scannedTo(consumer));
  if (consumer.replay !== undefined) forgetPassed(consumer.replay, consumer.replay.scannedTo);
}

function forgetPassed({ open, beyond }: Cursor, scannedTo: number): void {
  const position = positionOf({ open, scannedTo });
  for (const sequence of beyond) if (sequence <= position) beyond.delete(sequence);
}

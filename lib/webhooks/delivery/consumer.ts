import type { LoggedEvent } from "../../store/event.ts";
import type { Lease } from "../../store/store.ts";
import {
  type FailedDelivery,
  isDue,
  type NextDelivery,
  type StoredConsumer,
  type Subscription,
} from "../../store/webhook.ts";
import type { Recipient } from "./attempt.ts";
import { type Cursor, cursorAt, isDone, openReplay, type ReplayCursor } from "./cursor.ts";
import { type Endpoint, readyAt, unknownEndpoint, windowOf } from "./endpoint.ts";

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

/** What a consumer does. */
export type Work =
  /** It has all events of the log, and is handed new ones. */
  | { state: "following"; log: { readonly tail: number } }
  /** It reads on by itself. */
  | { state: "behind" }
  /** The store is being asked for what it posts next. */
  | { state: "asking" }
  /** Nothing is read or posted before, monotonic ms. `isHeldBack`: its key is disabled, or its secret can't be opened. */
  | { state: "waiting"; untilAt: number; isHeldBack: boolean }
  /** Its subscription was deleted, or another process delivers to it. */
  | { state: "closed" };

/** A subscription at work. The functions of this file change it. */
export interface Consumer {
  subscription: Subscription;
  readonly partition: number;
  /** Everything that comes of this consumer is committed under this lease alone. */
  readonly lease: Lease;
  work: Work;
  readonly cursor: Cursor;
  /** The replay under way, or the one that ended last: listed before its end was committed, it does not begin again. */
  replay: ReplayCursor | undefined;
  /** Sequences that were taken from the store, and of which nothing is committed yet. */
  readonly inFlight: Set<number>;
  /** Those of them that are not posted yet, in the order in which they are. */
  ready: Delivery[];
  /** How many are being posted. */
  posts: number;
  /** When the store is asked for failed deliveries that are due, Unix ms; Infinity: none retries; undefined: none is kept. */
  dueAtMs: number | undefined;
  endpoint: Endpoint;
  /** Unix ms; null: it is well. */
  failingSinceMs: number | null;
  /** With what it may be posted to (`eligibility.ts`); undefined: that is not known. */
  eligible: Eligible | undefined;
  /** Its place among those that wait for a post (`post_queue.ts`), and whether it was last sent what had failed before. */
  turn: { isWaiting: boolean; postsLeft: number; wasRetry: boolean };
}

/** A subscription may be posted to, as it was at `checkedAt`, monotonic ms, with secrets that sign until `untilMs`. */
export interface Eligible {
  recipient: Recipient;
  untilMs: number;
  checkedAt: number;
}

/** A consumer rests for so long when something fails on this side. */
export const PUT_OFF_MS = 5_000;
/** A consumer posts so often before others do: what comes of runs is committed with less work. */
export const POSTS_IN_A_ROW = 32;

export function openConsumer(
  { subscription, progress, replay }: StoredConsumer,
  partition: number,
  lease: Lease,
): Consumer {
  const { cursor, failingSinceMs, retrying, rejected, dead } = progress;
  return {
    subscription,
    partition,
    lease,
    work: { state: "behind" },
    cursor: cursorAt(cursor),
    replay: replay === null ? undefined : openReplay(subscription, replay),
    inFlight: new Set(),
    ready: [],
    posts: 0,
    // Whatever the clock has done since: the store says when it is due.
    dueAtMs: retrying > 0 ? 0 : rejected + dead > 0 ? Infinity : undefined,
    endpoint: unknownEndpoint(failingSinceMs !== null),
    failingSinceMs,
    eligible: undefined,
    turn: { isWaiting: false, postsLeft: POSTS_IN_A_ROW, wasRetry: false },
  };
}

/** The subscription was changed, or has a replay. */
export function renew(consumer: Consumer, { subscription, replay }: StoredConsumer): void {
  consumer.subscription = subscription;
  consumer.eligible = undefined;
  if (replay !== null && replay.id !== consumer.replay?.id) consumer.replay = openReplay(subscription, replay);
}

/** Every change of its work. One that is closed stays so. */
function become(consumer: Consumer, work: Work): void {
  if (consumer.work.state === "closed") return;
  consumer.cursor.scannedTo = scannedTo(consumer);
  consumer.work = work;
}

/** How far it has come: one that follows the log is as far as that. */
export function scannedTo({ work, cursor }: Consumer): number {
  return work.state === "following" ? Math.max(cursor.scannedTo, work.log.tail) : cursor.scannedTo;
}

/** Its wait may be over, and it follows the log once it has read all that there is; an ordered one waits at what failed. */
export function goOn(consumer: Consumer, log: { readonly tail: number }, nowAt: number): void {
  const { cursor, subscription: { ordered } } = consumer;
  if (consumer.work.state === "waiting" && nowAt >= consumer.work.untilAt) become(consumer, { state: "behind" });
  if (consumer.work.state !== "behind" || cursor.scannedTo < log.tail) return;
  if (!ordered || (!isHeldUp(consumer) && !retries(consumer))) become(consumer, { state: "following", log });
}

/** From here on it reads by itself. */
export function fallBehind(consumer: Consumer): void {
  if (consumer.work.state === "following") become(consumer, { state: "behind" });
}

/** It has as much ahead as it takes: it reads this event, and what follows, by itself. */
export function overflow(consumer: Consumer, event: LoggedEvent): void {
  fallBehind(consumer);
  consumer.cursor.scannedTo = event.sequence - 1;
}

export function beginAsking(consumer: Consumer): void {
  become(consumer, { state: "asking" });
}

export function endAsking(consumer: Consumer): void {
  if (consumer.work.state === "asking") become(consumer, { state: "behind" });
}

/** Something failed on this side, or it is held back. @param untilAt monotonic ms */
export function putOff(consumer: Consumer, untilAt: number, isHeldBack: boolean): void {
  if (restsUntil(consumer) < untilAt) become(consumer, { state: "waiting", untilAt, isHeldBack });
}

export function close(consumer: Consumer): void {
  become(consumer, { state: "closed" });
}

export function isClosed({ work }: Consumer): boolean {
  return work.state === "closed";
}

/** Whether something may be posted at this moment. */
export function canPost(consumer: Consumer, nowAt: number): boolean {
  const { work: { state }, endpoint, subscription, ready, posts } = consumer;
  if (state === "closed" || state === "waiting" || ready.length === 0 || nowAt < readyAt(endpoint)) return false;
  return posts < (subscription.ordered ? 1 : windowOf(endpoint));
}

/** Nothing is posted before, monotonic ms. */
export function restsUntil({ endpoint, work }: Consumer): number {
  return Math.max(work.state === "waiting" ? work.untilAt : -Infinity, readyAt(endpoint));
}

/** How long it waits for a moment that is known, in milliseconds. */
export function restOf(consumer: Consumer, nowMs: number, nowAt: number): number {
  const restMs = restsUntil(consumer) - nowAt;
  if (restMs > 0) return restMs;
  const dueInMs = (consumer.dueAtMs ?? Infinity) - nowMs;
  return dueInMs > 0 ? dueInMs : Infinity;
}

/** The clock was set back, or events were forgotten: the store says anew what is due. */
export function askForDue(consumer: Consumer): void {
  if (consumer.dueAtMs !== undefined) consumer.dueAtMs = 0;
}

/** Whether something that an ordered one was sent may have failed, and that is not committed yet. */
export function isHeldUp({ inFlight, dueAtMs }: Consumer): boolean {
  return dueAtMs !== undefined && inFlight.size > 0;
}

/** Whether it has a failed delivery that retries, as far as it is not in flight. */
export function retries({ dueAtMs }: Consumer): boolean {
  return dueAtMs !== undefined && dueAtMs < Infinity;
}

/** A failed delivery is kept, and due then, Unix ms; Infinity: it is not retried. */
export function keep(consumer: Consumer, dueAtMs: number): void {
  consumer.dueAtMs = Math.min(consumer.dueAtMs ?? Infinity, dueAtMs);
}

function isReplaying({ replay }: Consumer): boolean {
  return replay !== undefined && replay.state !== "ended";
}

/** Whether it waits for new events alone. */
export function isQuiet(consumer: Consumer): boolean {
  const { work, inFlight } = consumer;
  return work.state === "following" && inFlight.size === 0 && !isReplaying(consumer) && !retries(consumer);
}

/** Whether nothing is left to do before then: by the wall clock, and by the monotonic one. */
export function isIdleUntil(consumer: Consumer, untilMs: number, untilAt: number): boolean {
  const { work, ready, dueAtMs = Infinity } = consumer;
  if ((work.state === "waiting" && work.isHeldBack) || restsUntil(consumer) >= untilAt) return true;
  return work.state === "following" && ready.length === 0 && !isReplaying(consumer) && dueAtMs >= untilMs;
}

/** Whether its replay has come to its end, which is to be committed: says so once. */
export function endReplay({ replay }: Consumer): boolean {
  if (replay?.state !== "open" || !isDone(replay)) return false;
  replay.state = "done";
  return true;
}

/** What became of it is committed: from here on the store answers a delivery again where it retries. */
export function settled(consumer: Consumer, delivery: Settled | undefined, nowMs: number): void {
  if (consumer.replay?.state === "saved") consumer.replay.state = "ended";
  if (delivery === undefined) return;
  const { sequence, failed } = delivery;
  consumer.inFlight.delete(sequence);
  if (failed?.state === "retrying") keep(consumer, isDue(failed, nowMs) ? 0 : failed.dueAtMs!);
}

/** A delivery that is done with. */
export interface Settled {
  sequence: number;
  cursor: Cursor | undefined;
  /** Undefined: it was delivered. */
  failed: FailedDelivery | undefined;
}

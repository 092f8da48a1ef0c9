/*
 * Reads a consumer's next deliveries: due failures and new events, and its replay when there is nothing new. `ready.ts`
 * queues them; `worker.ts` decides when to read.
 */

import { createRecentMap } from "../../bounded_map.ts";
import type { Clock } from "../../clock.ts";
import { type EventFilter, heightOf, type LoggedEvent } from "../../store/event.ts";
import type { Store } from "../../store/store.ts";
import { type FailedDelivery, filterOf, type NextDeliveries, type NextDelivery } from "../../store/webhook.ts";
import { beginAsking, type Consumer, endAsking, isHeldUp, keep, restsUntil, retries, scannedTo } from "./consumer.ts";
import type { ReplayCursor } from "./cursor.ts";
import { hasBreaks } from "./endpoint.ts";
import { enqueue, READ_AHEAD } from "./ready.ts";

/** How often it checks whether the watcher has reached the end of a replay. */
const ASK_MS = 1_000;
/** A few megabytes at most. */
const PAGES_KEPT = 32;

/** Whether to read the store for a consumer. @param tail the known end of the log */
export function mayHaveMore(consumer: Consumer, tail: number, nowMs: number, nowAt: number): boolean {
  const { work: { state }, subscription: { ordered }, cursor, replay, dueAtMs = Infinity, ready } = consumer;
  if ((state !== "following" && state !== "behind") || ready.length >= READ_AHEAD / 4) return false;
  const isDueNow = dueAtMs <= nowMs;
  if (ordered) {
    // It waits at a failure, or probes the endpoint with it.
    if (isHeldUp(consumer)) return false;
    if (retries(consumer)) return isDueNow || (hasBreaks(consumer.endpoint) && nowAt >= restsUntil(consumer));
  }
  if (isDueNow || (state === "behind" && cursor.scannedTo < tail)) return true;
  if (replay?.state !== "open" || nowAt < replay.readAt || !mayReplay(consumer, tail)) return false;
  return replay.endSequence === Infinity || replay.scannedTo < Math.min(replay.endSequence, tail);
}

/** Whether a replay may go on. New events come first, and an ordered one waits for the deliveries under way. */
function mayReplay(consumer: Consumer, tail: number): boolean {
  const { subscription: { ordered }, cursor, inFlight, ready } = consumer;
  if (ordered && (inFlight.size > 0 || retries(consumer))) return false;
  return scannedTo(consumer) >= tail && !ready.some((one) => one.cursor === cursor);
}

/** Reads the next deliveries of consumers. */
export interface Reading {
  /**
   * Reads deliveries of the subscription, and of its replay when nothing is new.
   * @param tail the known end of the log
   * @returns false when the subscription is gone, or its cursor is behind a commit because the database lost its last
   * ones
   */
  read(consumer: Consumer, tail: number): Promise<boolean>;
  /** Drops cached pages: after a loss of commits other events may have their sequences. */
  forget(): void;
}

export function createReading(store: Pick<Store, "events" | "deliveries">, clock: Clock): Reading {
  const pages = createRecentMap<LoggedEvent[]>(PAGES_KEPT);

  /** Consumers with the same filter and cursor share a page. A full page never changes. */
  async function readPage(filter: EventFilter, after: number, upTo: number) {
    const key = `${after} ${JSON.stringify(filter)}`;
    let events = pages.get(key);
    if (events === undefined || events.at(-1)!.sequence > upTo) {
      events = await store.events.read({ filter, after, upTo, order: "asc", limit: READ_AHEAD });
      if (events.length === READ_AHEAD) pages.set(key, events);
    }
    return { events, scannedTo: events.length < READ_AHEAD ? upTo : events.at(-1)!.sequence };
  }

  /** Without failures the next deliveries are a page of the log. */
  async function next(consumer: Consumer, after: number, upTo: number): Promise<NextDeliveries | undefined> {
    const { subscription, cursor, inFlight, endpoint, dueAtMs } = consumer;
    if (dueAtMs === undefined) {
      const nothing = { cursor: cursor.written, deliveries: [], scannedTo: after, nextDueAtMs: null };
      if (after >= upTo) return nothing;
      const page = await readPage(filterOf(subscription), after, upTo);
      const fresh = page.events.filter(({ sequence }) => !inFlight.has(sequence));
      return { ...nothing, deliveries: fresh.map((event) => ({ event, failed: null })), scannedTo: page.scannedTo };
    }
    // A commit during this read may be due earlier than the answer says.
    consumer.dueAtMs = Infinity;
    try {
      const query = { after, upTo, limit: READ_AHEAD, inFlight: [...inFlight], nowMs: clock.now() };
      return await store.deliveries.next(subscription, { ...query, isProbing: hasBreaks(endpoint) });
    } catch (cause) {
      keep(consumer, dueAtMs);
      throw cause;
    }
  }

  async function readReplay(consumer: Consumer, replay: ReplayCursor, tail: number): Promise<void> {
    const nowAt = clock.monotonicMs();
    if (replay.endSequence === Infinity && nowAt >= replay.readAt) {
      replay.readAt = nowAt + ASK_MS;
      replay.endSequence = await endOfReplay(store, replay.toHeight);
    }
    const upTo = Math.min(replay.endSequence, tail);
    const after = replay.scannedTo;
    if (after >= upTo) return;
    const page = await readPage(replay.filter, after, upTo);
    if (consumer.replay !== replay || replay.scannedTo !== after) return;
    // An event has one post at a time: the replay waits for one in flight.
    const stop = page.events.findIndex(({ sequence }) => consumer.inFlight.has(sequence));
    if (stop >= 0) replay.readAt = nowAt + ASK_MS;
    replay.scannedTo = stop < 0 ? page.scannedTo : page.events[stop]!.sequence - 1;
    enqueue(consumer, [], stop < 0 ? page.events : page.events.slice(0, stop), replay);
  }

  async function read(consumer: Consumer, tail: number): Promise<boolean> {
    const { cursor, replay, subscription: { ordered }, dueAtMs } = consumer;
    const { scannedTo: after, written } = cursor;
    const found = await next(consumer, after, tail);
    if (found === undefined || found.cursor < written) return false;
    if (found.nextDueAtMs !== null) keep(consumer, found.nextDueAtMs);
    const failed = found.deliveries.filter(isFailed);
    const events = found.deliveries.filter((one) => !isFailed(one)).map(({ event }) => event);
    // A failure meanwhile has moved the cursor back, and the next read starts there.
    const isHeldUpNow = ordered && dueAtMs === undefined && consumer.dueAtMs !== undefined;
    const isRewound = cursor.scannedTo !== after || isHeldUpNow;
    enqueue(consumer, failed, isRewound ? [] : events, cursor);
    if (!isRewound) cursor.scannedTo = found.scannedTo;
    if (replay?.state === "open" && mayReplay(consumer, tail)) await readReplay(consumer, replay, tail);
    return true;
  }

  return {
    async read(consumer, tail) {
      beginAsking(consumer);
      try {
        return await read(consumer, tail);
      } finally {
        endAsking(consumer);
      }
    },
    forget: pages.clear,
  };
}

function isFailed(one: NextDelivery): one is NextDelivery & { failed: FailedDelivery } {
  return one.failed !== null;
}

/** The end of the log, once the watcher has scanned the range of the replay; Infinity before. */
async function endOfReplay({ events }: Pick<Store, "events">, toHeight: number): Promise<number> {
  const state = await events.watcherState();
  if (state === undefined || heightOf(state.epoch, state.scannedLedger) < toHeight) return Infinity;
  return (await events.bounds()).last;
}

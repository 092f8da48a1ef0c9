import { createRecentMap } from "../../bounded_map.ts";
import type { Clock } from "../../clock.ts";
import { type EventFilter, heightOf, type LoggedEvent } from "../../store/event.ts";
import type { Store } from "../../store/store.ts";
import type { FailedDelivery, NextDeliveries, NextDelivery } from "../../store/webhook.ts";
import { type Consumer, enqueue, READ_AHEAD, restsUntil } from "./consumer.ts";
import type { ReplayCursor } from "./cursor.ts";
import { hasBreaks } from "./endpoint.ts";

/** How often it is asked whether the watcher has come to the end of a replay. */
const ASK_MS = 1_000;
/** Some megabytes at most. */
const PAGES_KEPT = 32;

/** Whether the store may have something to post. @param tail the end of the log, as far as it is known */
export function mayHaveMore(consumer: Consumer, tail: number, nowMs: number, nowAt: number): boolean {
  const { subscription: { ordered }, cursor, replay, nextDueAtMs, inFlight, ready } = consumer;
  if (ready.length >= READ_AHEAD / 4) return false;
  const isDueNow = nextDueAtMs !== null && nextDueAtMs <= nowMs;
  if (ordered) {
    // What it was sent has to be done with: it waits at what failed, or asks with it whether the endpoint is back.
    if (inFlight.size > 0) return false;
    if (nextDueAtMs !== null) return isDueNow || (hasBreaks(consumer.endpoint) && nowAt >= restsUntil(consumer));
  }
  if (isDueNow || (!consumer.isAtEnd && cursor.scannedTo < tail)) return true;
  if (replay === undefined || nowAt < replay.readAt || !mayReplay(consumer, tail)) return false;
  return replay.endSequence === Infinity || replay.scannedTo < Math.min(replay.endSequence, tail);
}

/** Whether a replay may go on: what is new comes first, and an ordered one has to be done with what it was sent. */
function mayReplay(consumer: Consumer, tail: number): boolean {
  const { subscription: { ordered }, cursor, isAtEnd, inFlight, nextDueAtMs, ready } = consumer;
  if (ordered && (inFlight.size > 0 || nextDueAtMs !== null)) return false;
  return (isAtEnd || cursor.scannedTo >= tail) && !ready.some((one) => one.cursor === cursor);
}

/** Reads what consumers post next. */
export interface Reading {
  /**
   * Reads on for a consumer: for its subscription, and for its replay when nothing is new.
   * @param tail the end of the log, as far as it is known
   * @returns false when the subscription is gone, or stands before what was committed: the database has lost its last commits
   */
  read(consumer: Consumer, tail: number): Promise<boolean>;
  /** Other events may stand where those stood that were read. */
  forget(): void;
}

export function createReading(store: Pick<Store, "events" | "deliveries">, clock: Clock): Reading {
  const pages = createRecentMap<LoggedEvent[]>(PAGES_KEPT);

  /** Consumers that are behind at the same sequence and hear the same share what was read: a full page never changes. */
  async function readPage(filter: EventFilter, after: number, upTo: number) {
    const key = `${after} ${JSON.stringify(filter)}`;
    let events = pages.get(key);
    if (events === undefined || events.at(-1)!.sequence > upTo) {
      events = await store.events.read({ filter, after, upTo, order: "asc", limit: READ_AHEAD });
      if (events.length === READ_AHEAD) pages.set(key, events);
    }
    return { events, scannedTo: events.length < READ_AHEAD ? upTo : events.at(-1)!.sequence };
  }

  /** While nothing has failed, what comes next is a page of the log. */
  async function next(consumer: Consumer, after: number, upTo: number): Promise<NextDeliveries | undefined> {
    const { subscription, filter, cursor, inFlight, endpoint, isAnyKept } = consumer;
    if (!isAnyKept) {
      if (after >= upTo) return { cursor: cursor.written, deliveries: [], scannedTo: after, nextDueAtMs: null };
      const { events, scannedTo } = await readPage(filter, after, upTo);
      const fresh = events.filter(({ sequence }) => !inFlight.has(sequence));
      const deliveries = fresh.map((event) => ({ event, failed: null }));
      return { cursor: cursor.written, deliveries, scannedTo, nextDueAtMs: null };
    }
    const dueAtMs = consumer.nextDueAtMs;
    // What is committed while the store is asked may be due sooner than it says.
    consumer.nextDueAtMs = null;
    try {
      const query = { after, upTo, limit: READ_AHEAD, inFlight: [...inFlight], nowMs: clock.now() };
      return await store.deliveries.next(subscription, { ...query, isProbing: hasBreaks(endpoint) });
    } catch (cause) {
      dueNoLaterThan(consumer, dueAtMs);
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
    const { events, scannedTo } = await readPage(replay.filter, after, upTo);
    if (consumer.replay !== replay || replay.scannedTo !== after) return;
    // One post at a time is made of an event: what is in flight is replayed afterwards.
    const stop = events.findIndex(({ sequence }) => consumer.inFlight.has(sequence));
    if (stop >= 0) replay.readAt = nowAt + ASK_MS;
    replay.scannedTo = stop < 0 ? scannedTo : events[stop]!.sequence - 1;
    enqueue(consumer, [], stop < 0 ? events : events.slice(0, stop), replay);
  }

  return {
    async read(consumer, tail) {
      const { cursor, replay, isAtEnd } = consumer;
      const after = isAtEnd ? tail : cursor.scannedTo;
      const found = await next(consumer, after, tail);
      if (found === undefined || found.cursor < cursor.written) return false;
      dueNoLaterThan(consumer, found.nextDueAtMs);
      const failed = found.deliveries.filter(isFailed);
      const events = found.deliveries.filter((one) => !isFailed(one)).map(({ event }) => event);
      // After a failure meanwhile, what is new is read again from where that has put the cursor.
      const isRewound = consumer.isAtEnd !== isAtEnd || (!isAtEnd && cursor.scannedTo !== after);
      enqueue(consumer, failed, isRewound ? [] : events, cursor);
      if (!isAtEnd && !isRewound) cursor.scannedTo = found.scannedTo;
      if (replay !== undefined && mayReplay(consumer, tail)) await readReplay(consumer, replay, tail);
      return true;
    },
    forget: pages.clear,
  };
}

function isFailed(one: NextDelivery): one is NextDelivery & { failed: FailedDelivery } {
  return one.failed !== null;
}

function dueNoLaterThan(consumer: Consumer, dueAtMs: number | null): void {
  if (dueAtMs !== null) consumer.nextDueAtMs = Math.min(consumer.nextDueAtMs ?? Infinity, dueAtMs);
}

/** The end of the log, once the watcher has scanned what the replay is about; Infinity before. */
async function endOfReplay({ events }: Pick<Store, "events">, toHeight: number): Promise<number> {
  const state = await events.watcherState();
  if (state === undefined || heightOf(state.epoch, state.scannedLedger) < toHeight) return Infinity;
  return (await events.bounds()).last;
}

/*
 * Reads a consumer's next deliveries: due failures and new events, and its replay when there is nothing new.
 * `worker.ts` decides when to read.
 */

import { createRecentMap } from "../../bounded_map.ts";
import type { Clock } from "../../clock.ts";
import { type EventFilter, heightOf, type LoggedEvent, matches } from "../../store/event.ts";
import type { Store } from "../../store/store.ts";
import { become, type Consumer, enqueue, isHeldUp, keep, restsUntil, retries, scannedTo } from "./consumer.ts";
import type { ReplayCursor } from "./cursor.ts";
import { hasBreaks } from "./endpoint.ts";

/** How many deliveries are read ahead for a consumer. */
export const READ_AHEAD = 64;
/** How often it checks whether the watcher has reached the end of a replay. */
const ASK_MS = 1_000;
/** Consumers that share pages are near one another. */
const PAGES_KEPT = 8;

interface ReadingParts {
  store: Pick<Store, "deliveries" | "events" | "references">;
  clock: Clock;
  pages: LogPages;
}

/** Pages of the log. Consumers with the same filter at the same place share one. */
export interface LogPages {
  /** At most `READ_AHEAD` matching events after one sequence, up to another, and how far the page reaches. */
  read(filter: EventFilter, after: number, upTo: number): Promise<{ events: LoggedEvent[]; scannedTo: number }>;
  /** Call it when events were deleted, or the log is shorter: the pages are wrong. */
  clear(): void;
}

export function createLogPages({ events, references }: Pick<Store, "events" | "references">): LogPages {
  const pages = createRecentMap<Promise<LoggedEvent[]>>(PAGES_KEPT);

  async function readPage(filter: EventFilter, after: number, upTo: number): Promise<LoggedEvent[]> {
    const page = await events.read({ filter, after, upTo, order: "asc", limit: READ_AHEAD });
    await references.attach(page);
    return page;
  }

  return {
    async read(filter, after, upTo) {
      const place = `${after} ${upTo} ${JSON.stringify(filter)}`;
      let page = pages.get(place);
      if (page === undefined) {
        page = readPage(filter, after, upTo);
        pages.set(place, page);
        page.catch(pages.clear);
      }
      const found = await page;
      return { events: found, scannedTo: found.length < READ_AHEAD ? upTo : found.at(-1)!.sequence };
    },
    clear: pages.clear,
  };
}

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
  if (!replay?.isOpen || nowAt < replay.readAt || !mayReplay(consumer, tail)) return false;
  return replay.endSequence === Infinity || replay.scannedTo < Math.min(replay.endSequence, tail);
}

/** Whether a replay may go on. New events come first, and an ordered one waits for the deliveries under way. */
function mayReplay(consumer: Consumer, tail: number): boolean {
  const { subscription: { ordered }, cursor, inFlight, ready } = consumer;
  if (ordered && (inFlight.size > 0 || retries(consumer))) return false;
  return scannedTo(consumer) >= tail && !ready.some((one) => one.cursor === cursor);
}

/**
 * Queues the next deliveries of the subscription, and of its replay when nothing is new.
 * @param tail the known end of the log
 * @returns false when the subscription is gone, or its cursor is behind a commit because the database lost its last
 * ones
 */
export async function readOn(parts: ReadingParts, consumer: Consumer, tail: number): Promise<boolean> {
  become(consumer, { state: "asking" });
  try {
    const isThere = await readNext(parts, consumer, tail);
    const { replay } = consumer;
    if (isThere && replay?.isOpen && mayReplay(consumer, tail)) await readReplay(parts, consumer, replay, tail);
    return isThere;
  } finally {
    if (consumer.work.state === "asking") become(consumer, { state: "behind" });
  }
}

/** Until its first failure, a consumer reads nothing but the log. */
async function readNext(parts: ReadingParts, consumer: Consumer, tail: number): Promise<boolean> {
  if (consumer.dueAtMs !== undefined) return await readWithFailed(parts, consumer, tail);
  const { subscription, cursor, filter, inFlight } = consumer;
  const { scannedTo: after, requeued } = cursor;
  if (after >= tail) return true;
  // Only late events are of before the webhook: without that bound the page is the same for more consumers.
  const { events, scannedTo } = await parts.pages.read({ ...filter, fromHeight: undefined }, after, tail);
  // A failure meanwhile has emptied the queue, and the next read starts there.
  const isHeldUpNow = subscription.ordered && consumer.dueAtMs !== undefined;
  if (cursor.requeued !== requeued || isHeldUpNow) return true;
  const isTaken = (sequence: number) => inFlight.has(sequence) || cursor.beyond.has(sequence);
  const open = events.filter((event) => matches(filter, event) && !isTaken(event.sequence));
  enqueue(consumer, open.map((event) => ({ event, failed: null })), cursor);
  cursor.scannedTo = scannedTo;
  return true;
}

async function readWithFailed({ store, clock }: ReadingParts, consumer: Consumer, tail: number): Promise<boolean> {
  const { subscription, cursor, inFlight, endpoint } = consumer;
  const { scannedTo: after, requeued, written } = cursor;
  const dueAtMs = consumer.dueAtMs!;
  const taken = [...inFlight, ...cursor.beyond];
  const query = { after, upTo: tail, limit: READ_AHEAD, inFlight: taken, nowMs: clock.now() };
  // A commit during this read may be due earlier than the answer says.
  consumer.dueAtMs = Infinity;
  const found = await store.deliveries.next(subscription, { ...query, isProbing: hasBreaks(endpoint) })
    .then(async (next) => {
      await store.references.attach(next?.deliveries.map(({ event }) => event) ?? []);
      return next;
    })
    .catch((cause) => {
      keep(consumer, dueAtMs);
      throw cause;
    });
  if (found === undefined || found.cursor < written) return false;
  if (found.nextDueAtMs !== null) keep(consumer, found.nextDueAtMs);
  const isRewound = cursor.requeued !== requeued;
  enqueue(consumer, found.deliveries.filter(({ failed }) => failed !== null || !isRewound), cursor);
  if (!isRewound) cursor.scannedTo = found.scannedTo;
  return true;
}

async function readReplay(
  { store, clock, pages }: ReadingParts,
  consumer: Consumer,
  replay: ReplayCursor,
  tail: number,
): Promise<void> {
  const nowAt = clock.monotonicMs();
  if (replay.endSequence === Infinity && nowAt >= replay.readAt) {
    replay.readAt = nowAt + ASK_MS;
    replay.endSequence = await endOfReplay(store, replay.toHeight);
  }
  const { filter, scannedTo: after, requeued } = replay;
  const upTo = Math.min(replay.endSequence, tail);
  if (after >= upTo) return;
  const { events, scannedTo } = await pages.read(filter, after, upTo);
  if (consumer.replay !== replay || replay.requeued !== requeued) return;
  // An event has one post at a time: the replay waits for one in flight.
  const stop = events.findIndex(({ sequence }) => consumer.inFlight.has(sequence));
  if (stop >= 0) replay.readAt = nowAt + ASK_MS;
  replay.scannedTo = stop < 0 ? scannedTo : events[stop]!.sequence - 1;
  const open = events.slice(0, stop < 0 ? undefined : stop).filter(({ sequence }) => !replay.beyond.has(sequence));
  enqueue(consumer, open.map((event) => ({ event, failed: null })), replay);
}

/** The end of the log, once the watcher has scanned the range of the replay; Infinity before. */
async function endOfReplay({ events }: Pick<Store, "events">, toHeight: number): Promise<number> {
  const state = await events.watcherState();
  if (state === undefined || heightOf(state.epoch, state.scannedLedger) < toHeight) return Infinity;
  return (await events.bounds()).last;
}

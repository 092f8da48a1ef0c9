import type { LoggedEvent } from "./event.ts";
import type { EventQuery, NextQuery } from "./store.ts";
import {
  type DueDelivery,
  filterOf,
  isDue,
  type NextDeliveries,
  type NextDelivery,
  type Subscription,
} from "./webhook.ts";

type Awaitable<T> = T | Promise<T>;

/** The reads that a driver offers for `DeliveryStore.next` of one subscription. */
export interface NextSource {
  /** Failed deliveries that are due (`isDue`), ascending by due time and then sequence. */
  due(nowMs: number, limit: number): Awaitable<DueDelivery[]>;
  /** The due time of the first failed delivery that is due after this time. Null: there is none. */
  firstDueAfter(nowMs: number): Awaitable<number | null>;
  /** The first delivery that retries, by sequence. */
  firstRetrying(): Awaitable<DueDelivery | undefined>;
  /** The sequences in this range that have a failed delivery, in any state. `after` is not in the range. */
  failedBetween(after: number, upTo: number): Awaitable<number[]>;
  read(query: EventQuery & { order: "asc"; limit: number }): Awaitable<LoggedEvent[]>;
}

export interface NextProgress {
  cursor: number;
  /** The number of failed deliveries in the state `retrying`, and in any state. */
  retrying: number;
  kept: number;
}

/** `DeliveryStore.next` of an existing subscription, alike for all drivers. */
export async function nextDeliveries(
  source: NextSource,
  { cursor, retrying, kept }: NextProgress,
  subscription: Subscription,
  query: NextQuery,
): Promise<NextDeliveries> {
  if (subscription.ordered && retrying > 0) return await nextInOrder(source, cursor, query);
  const inFlight = new Set(query.inFlight);
  const found = retrying === 0 ? [] : await source.due(query.nowMs, query.limit + inFlight.size);
  const due = found.filter(({ event }) => !inFlight.has(event.sequence));
  const room = query.limit - Math.min(due.length, query.limit >> 1);
  const { events, scannedTo } = await newEvents(source, subscription, query, { room, inFlight, isAnyKept: kept > 0 });
  const failed = due.slice(0, query.limit - events.length);
  const isMoreDue = due.length > failed.length || found.length === query.limit + inFlight.size;
  return {
    cursor,
    deliveries: inTurns(
      failed.map(({ event, delivery }) => ({ event, failed: delivery })),
      events.map((event) => ({ event, failed: null })),
    ),
    scannedTo,
    nextDueAtMs: retrying === 0 ? null : isMoreDue ? query.nowMs : await source.firstDueAfter(query.nowMs),
  };
}

/** An ordered subscription waits at its first failed delivery. */
async function nextInOrder(
  source: NextSource,
  cursor: number,
  { after, inFlight, nowMs, isProbing = false }: NextQuery,
): Promise<NextDeliveries> {
  const nothing = { cursor, deliveries: [], scannedTo: after };
  const first = await source.firstRetrying();
  if (first === undefined || inFlight.includes(first.event.sequence)) return { ...nothing, nextDueAtMs: null };
  const { event, delivery } = first;
  if (!isProbing && !isDue(delivery, nowMs)) return { ...nothing, nextDueAtMs: delivery.dueAtMs };
  return { ...nothing, deliveries: [{ event, failed: delivery }], nextDueAtMs: null };
}

/** Events after `after` that are not in flight and have no failed delivery. */
async function newEvents(
  source: NextSource,
  subscription: Subscription,
  { after, upTo, inFlight }: NextQuery,
  { room, inFlight: taken, isAnyKept }: { room: number; inFlight: Set<number>; isAnyKept: boolean },
): Promise<{ events: LoggedEvent[]; scannedTo: number }> {
  if (after >= upTo) return { events: [], scannedTo: after };
  const kept = new Set(isAnyKept ? await source.failedBetween(after, upTo) : []);
  // The page is larger by the sequences to leave out. They are few.
  const limit = room + inFlight.filter((sequence) => sequence > after).length + kept.size;
  const page = await source.read({ filter: filterOf(subscription), after, upTo, order: "asc", limit });
  const open = page.filter(({ sequence }) => !taken.has(sequence) && !kept.has(sequence));
  const events = open.slice(0, room);
  if (open.length > room) return { events, scannedTo: events.at(-1)!.sequence };
  return { events, scannedTo: page.length < limit ? upTo : page.at(-1)!.sequence };
}

function inTurns(failed: NextDelivery[], fresh: NextDelivery[]): NextDelivery[] {
  const both = Math.min(failed.length, fresh.length);
  const turns = failed.slice(0, both).flatMap((one, n) => [one, fresh[n]!]);
  return [...turns, ...failed.slice(both), ...fresh.slice(both)];
}

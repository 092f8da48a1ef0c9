import type { Clock } from "../../clock.ts";
import { createRecentMap } from "../../bounded_map.ts";
import { heightOf, type LoggedEvent } from "../../store/event.ts";
import type { EventQuery, Store } from "../../store/store.ts";
import { type DeliveryReader, isDown, isKeptKnown } from "./reader.ts";

/** So many deliveries are read ahead for each subscription. */
export const READ_AHEAD = 64;
/** Some megabytes at most. */
const PAGES_KEPT = 32;
/** How often it is asked whether the watcher has come to the end of a replay. */
const ASK_MS = 1_000;

/** Fills what a reader posts next: from the log, its replay and what is kept of its failed deliveries. */
export interface Reading {
  /** Whether there may be something to read. `tail`: the log's end as the courier has seen it. */
  isNeeded(reader: DeliveryReader, tail: number): boolean;
  /** False as `learnDue`. */
  read(reader: DeliveryReader, tail: number): Promise<boolean>;
  /**
   * Learns from the store what is kept of its failed deliveries, which has changed; false when the subscription is gone, or
   * stands before what was written of it: the database has lost its last commits, and what failed with them.
   */
  learnDue(reader: DeliveryReader): Promise<boolean>;
  /** Other events may have the places of those that were read. */
  forget(): void;
}

export function createReading(store: Pick<Store, "events" | "deliveries">, clock: Clock): Reading {
  const pages = createRecentMap<LoggedEvent[]>(PAGES_KEPT);

  /** Those that are behind at the same place and listen to the same share what was read: a full page never changes. */
  async function readPage(query: EventQuery): Promise<LoggedEvent[]> {
    const place = `${query.after} ${JSON.stringify(query.filter)}`;
    const known = pages.get(place);
    if (known !== undefined && known.at(-1)!.sequence <= query.upTo!) return known;
    const events = await store.events.read({ ...query, order: "asc", limit: READ_AHEAD });
    if (events.length === READ_AHEAD) pages.set(place, events);
    return events;
  }

  /** One that keeps the order waits for what failed alone, and asks with it whether a failing endpoint is back. */
  function isDueUnread(reader: DeliveryReader): boolean {
    if (reader.nextDueAtMs === null || reader.retrying.size > 0) return false;
    if (reader.nextDueAtMs <= clock.now()) return true;
    return reader.subscription.ordered && isDown(reader) && clock.monotonicMs() >= reader.notBeforeAt;
  }

  const isLogUnread = ({ isAtTip, log }: DeliveryReader, tail: number) =>
    !isAtTip && log.readThrough < tail && log.queue.length < READ_AHEAD / 4;

  function isReplayUnread({ replay }: DeliveryReader, tail: number): boolean {
    if (replay === undefined || replay.queue.length >= READ_AHEAD / 4) return false;
    if (replay.endSequence === Infinity && clock.monotonicMs() >= replay.askAt) return true;
    return replay.readThrough < Math.min(replay.endSequence, tail);
  }

  async function readDue(reader: DeliveryReader): Promise<boolean> {
    const { id: subscriptionId, ordered } = reader.subscription;
    const query = ordered ? { limit: 1 } : { dueByMs: clock.now(), limit: READ_AHEAD };
    const due = await store.deliveries.retrying({ subscriptionId, ...query });
    for (const item of due) {
      reader.retrying.add(item.delivery.sequence);
      if (!reader.replayed.has(item.delivery.sequence)) reader.due.push(item);
    }
    return due.length > 0 || await learnDue(reader);
  }

  async function learnDue(reader: DeliveryReader): Promise<boolean> {
    const { keptChanges, writtenCursor } = reader;
    const found = await store.deliveries.reader(reader.subscription.id);
    if (found === undefined || found.progress.cursor < writtenCursor) return false;
    // Read before a change and answered after it: it is read again.
    if (reader.keptChanges !== keptChanges) return true;
    reader.keptLearnt = keptChanges;
    const { nextDueAtMs, retrying, rejected, dead } = found.progress;
    reader.nextDueAtMs = nextDueAtMs;
    reader.retryingCount = retrying;
    reader.hasFailed = retrying + rejected + dead > 0;
    return true;
  }

  async function readLog({ filter, log }: DeliveryReader, tail: number): Promise<void> {
    const events = await readPage({ filter, after: log.readThrough, upTo: tail });
    log.queue.push(...events);
    log.readThrough = events.length === READ_AHEAD ? events.at(-1)!.sequence : tail;
  }

  async function readReplay({ replay }: DeliveryReader, tail: number): Promise<void> {
    if (replay === undefined) return;
    if (replay.endSequence === Infinity) {
      replay.askAt = clock.monotonicMs() + ASK_MS;
      replay.endSequence = await endOfReplay(replay.toHeight);
    }
    const upTo = Math.min(replay.endSequence, tail);
    if (replay.readThrough >= upTo) return;
    const events = await readPage({ filter: replay.filter, after: replay.readThrough, upTo });
    replay.queue.push(...events);
    replay.readThrough = events.length === READ_AHEAD ? events.at(-1)!.sequence : upTo;
  }

  /** The end of the log, once the watcher has scanned what the replay is about; Infinity before. */
  async function endOfReplay(toHeight: number): Promise<number> {
    const state = await store.events.watcherState();
    if (state === undefined || heightOf(state.epoch, state.scannedLedger) < toHeight) return Infinity;
    return (await store.events.bounds()).last;
  }

  return {
    isNeeded: (reader, tail) =>
      !isKeptKnown(reader) || isDueUnread(reader) || isLogUnread(reader, tail) || isReplayUnread(reader, tail),
    async read(reader, tail) {
      if (!isKeptKnown(reader) && !await learnDue(reader)) return false;
      if (isDueUnread(reader) && !await readDue(reader)) return false;
      if (isLogUnread(reader, tail)) await readLog(reader, tail);
      if (isReplayUnread(reader, tail)) await readReplay(reader, tail);
      return true;
    },
    learnDue,
    forget: pages.clear,
  };
}

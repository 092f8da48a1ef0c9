import type { Clock } from "../../clock.ts";
import { heightOf } from "../../store/event.ts";
import type { Store } from "../../store/store.ts";
import type { FailedDelivery, NextDelivery } from "../../store/webhook.ts";
import { type Consumer, enqueue, mayReplay, READ_AHEAD } from "./consumer.ts";
import type { ReplayCursor } from "./cursor.ts";
import { hasBreaks } from "./endpoint.ts";

/** How often it is asked whether the watcher has come to the end of a replay. */
const ASK_MS = 1_000;

/**
 * Reads what a consumer posts next: from its subscription, and from its replay when nothing is new.
 * @returns false when the subscription is gone, or stands before what was committed: the database has lost its last commits
 */
export async function readNext(
  store: Pick<Store, "events" | "deliveries">,
  consumer: Consumer,
  tail: number,
  clock: Clock,
): Promise<boolean> {
  const { subscription, cursor, replay, isAtEnd } = consumer;
  const nowMs = clock.now();
  const due = consumer.nextDueAtMs;
  // What is committed while the store is asked may be due sooner than it says.
  consumer.nextDueAtMs = null;
  const after = isAtEnd ? tail : cursor.scannedTo;
  const found = await store.deliveries.next(subscription, {
    after,
    upTo: tail,
    limit: READ_AHEAD,
    inFlight: [...consumer.inFlight],
    nowMs,
    isProbing: hasBreaks(consumer.endpoint),
  }).catch((cause) => {
    consumer.nextDueAtMs = due;
    throw cause;
  });
  if (found === undefined || found.cursor < cursor.written) return false;
  if (found.nextDueAtMs !== null) {
    consumer.nextDueAtMs = Math.min(consumer.nextDueAtMs ?? Infinity, found.nextDueAtMs);
  }
  const isFailed = (one: NextDelivery): one is NextDelivery & { failed: FailedDelivery } => one.failed !== null;
  const failed = found.deliveries.filter(isFailed);
  const events = found.deliveries.filter((one) => !isFailed(one)).map(({ event }) => event);
  // After a failure meanwhile, what is new is read again from where that has put the cursor.
  const isRewound = consumer.isAtEnd !== isAtEnd || (!isAtEnd && cursor.scannedTo !== after);
  enqueue(consumer, failed, isRewound ? [] : events, cursor);
  if (!isAtEnd && !isRewound) cursor.scannedTo = found.scannedTo;
  if (replay !== undefined && mayReplay(consumer, tail)) {
    await readReplay(store, consumer, replay, tail, clock.monotonicMs());
  }
  return true;
}

async function readReplay(
  store: Pick<Store, "events">,
  consumer: Consumer,
  replay: ReplayCursor,
  tail: number,
  nowAt: number,
): Promise<void> {
  if (replay.endSequence === Infinity && nowAt >= replay.readAt) {
    replay.readAt = nowAt + ASK_MS;
    replay.endSequence = await endOfReplay(store, replay.toHeight);
  }
  const upTo = Math.min(replay.endSequence, tail);
  const after = replay.scannedTo;
  if (after >= upTo) return;
  const page = await store.events.read({ filter: replay.filter, after, upTo, order: "asc", limit: READ_AHEAD });
  if (consumer.replay !== replay || replay.scannedTo !== after) return;
  // One post at a time is made of an event: what is in flight is replayed afterwards.
  const stop = page.findIndex(({ sequence }) => consumer.inFlight.has(sequence));
  const events = stop < 0 ? page : page.slice(0, stop);
  if (stop >= 0) {
    replay.scannedTo = page[stop]!.sequence - 1;
    replay.readAt = nowAt + ASK_MS;
  } else replay.scannedTo = page.length < READ_AHEAD ? upTo : page.at(-1)!.sequence;
  enqueue(consumer, [], events, replay);
}

/** The end of the log, once the watcher has scanned what the replay is about; Infinity before. */
async function endOfReplay({ events }: Pick<Store, "events">, toHeight: number): Promise<number> {
  const state = await events.watcherState();
  if (state === undefined || heightOf(state.epoch, state.scannedLedger) < toHeight) return Infinity;
  return (await events.bounds()).last;
}

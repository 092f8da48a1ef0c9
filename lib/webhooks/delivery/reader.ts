import type { EventFilter, LoggedEvent } from "../../store/event.ts";
import type { Lease } from "../../store/store.ts";
import {
  type DueDelivery,
  type FailedDelivery,
  filterOf,
  type NewAttempt,
  type Reader,
  type Subscription,
} from "../../store/webhook.ts";
import type { Recipient } from "./attempt.ts";
import { breakAfter } from "./schedule.ts";

/** A place in the log from which deliveries are taken in order: a subscription's own, or a replay's. */
export interface Track {
  /** The log was looked through up to here: what matches is in `queue` or `outstanding`, or is settled. */
  readThrough: number;
  /** What is next, ascending. */
  queue: LoggedEvent[];
  /** Sequences that were taken and not settled yet, in the order taken: what was put back may come after what is later. */
  outstanding: Set<number>;
  /** The cursor as it is stored. */
  savedCursor: number;
}

function trackAt(cursor: number): Track {
  return { readThrough: cursor, queue: [], outstanding: new Set(), savedCursor: cursor };
}

/** Everything up to here has been settled, or does not match. */
export function cursorOf({ readThrough, queue, outstanding }: Track): number {
  const first = Math.min(queue[0]?.sequence ?? Infinity, ...outstanding);
  return first === Infinity ? readThrough : first - 1;
}

/** One delivery that is to be posted, or is being posted. */
export interface Post {
  event: LoggedEvent;
  /** Where it was taken from; undefined: it failed before, and is kept by itself. */
  track: Track | undefined;
  /** As it is kept. */
  again: FailedDelivery | undefined;
  replayId: string | null;
  /** Asks whether the endpoint is back; a failure uses up no attempt. */
  isProbe: boolean;
}

/** A subscription as its courier sees it. Times called `…At` are monotonic milliseconds. */
export interface DeliveryReader {
  subscription: Subscription;
  filter: EventFilter;
  partition: number;
  /** That it was opened under: what it comes to is settled under this one alone. */
  lease: Lease;
  recipient: Recipient | undefined;
  /** When the recipient has to be made anew: a former secret ends, Unix ms. */
  recipientUntilMs: number;
  log: Track;
  /** What the store has answered that it has of `log`: `savedCursor` may be on its way. */
  writtenCursor: number;
  /** Its own track follows the end of the log: `log.readThrough` is the courier's. */
  isAtTip: boolean;
  replay: ReplayTrack | undefined;
  /** Failed deliveries that are due, in the order of due times. */
  due: DueDelivery[];
  /** Sequences of failed deliveries that are in `due`, being posted, or not settled yet. */
  retrying: Set<number>;
  /** Sequences that a replay has delivered, which is not written down yet: what is due again of them is not posted. */
  replayed: Set<number>;
  /** How many failed deliveries are to be tried again, and whether any at all are kept: as stored. */
  retryingCount: number;
  hasFailed: boolean;
  /** When the first of them is due, Unix ms; null: none is. */
  nextDueAtMs: number | null;
  /** How often what is kept has changed, and how often it had when the three above were learnt. */
  keptChanges: number;
  keptLearnt: number;
  inFlight: number;
  /** How many of its deliveries failed and are not written down yet. */
  unsettledFailures: number;
  /** How many may be in flight: one until the endpoint has answered, more with each success, one after a failure. */
  limit: number;
  /** Failures in a row. */
  failures: number;
  /** It has failed since this reader was opened, or held back last: before that nobody knows how it does now. */
  isKnownToFail: boolean;
  /** It was last sent what had failed before: what is new and that take turns. */
  wasAgain: boolean;
  /** Its last answer took long, or is still awaited. */
  isSlow: boolean;
  /** Unix ms; null: it is well. */
  failingSinceMs: number | null;
  /** Its key is disabled, or its secret can't be opened, as was found when it was looked at last. */
  isHeldBack: boolean;
  /** Nothing is posted before. */
  notBeforeAt: number;
  /** It and its key were looked at then. */
  vettedAt: number;
  /** The store is being asked for it. */
  isLooking: boolean;
  /** Waits for its turn to post. */
  isReady: boolean;
  /** How many posts it may still make before the others do. */
  postsLeft: number;
  /** Deleted, or another process delivers to it. */
  isClosed: boolean;
}

/** A replay under way. */
export interface ReplayTrack extends Track {
  id: string;
  filter: EventFilter;
  /** Infinity until the watcher has scanned all that it is about. */
  endSequence: number;
  toHeight: number;
  /** While the end is not known: when it is asked for again, monotonic ms. */
  askAt: number;
  /** Its end is being written down. */
  isEnding: boolean;
  /** Its end is among what is being written, or was. */
  isEndGiven: boolean;
}

/** A reader posts so often before the others do: what they come to is written down with less work in runs. */
export const POSTS_IN_A_ROW = 32;

export function openReader(
  { subscription, progress, replay }: Reader,
  partition: number,
  lease: Lease,
): DeliveryReader {
  return {
    subscription,
    filter: filterOf(subscription),
    partition,
    lease,
    recipient: undefined,
    recipientUntilMs: 0,
    log: trackAt(progress.cursor),
    writtenCursor: progress.cursor,
    isAtTip: false,
    replay: replay === null ? undefined : openReplay(subscription, replay),
    due: [],
    retrying: new Set(),
    replayed: new Set(),
    retryingCount: progress.retrying,
    hasFailed: progress.retrying + progress.rejected + progress.dead > 0,
    nextDueAtMs: progress.nextDueAtMs,
    keptChanges: 0,
    keptLearnt: 0,
    inFlight: 0,
    unsettledFailures: 0,
    limit: 1,
    // One that was failing is asked with a probe first.
    failures: progress.failingSinceMs === null ? 0 : PROBED_FROM,
    isKnownToFail: false,
    wasAgain: false,
    isSlow: false,
    failingSinceMs: progress.failingSinceMs,
    isHeldBack: false,
    notBeforeAt: -Infinity,
    vettedAt: -Infinity,
    isLooking: false,
    isReady: false,
    postsLeft: POSTS_IN_A_ROW,
    isClosed: false,
  };
}

export function openReplay(
  subscription: Subscription,
  { id, fromHeight, toHeight, cursor, endSequence }: NonNullable<Reader["replay"]>,
): ReplayTrack {
  const filter = { ...filterOf(subscription), fromHeight, toHeight };
  return {
    ...trackAt(cursor),
    id,
    filter,
    endSequence: endSequence ?? Infinity,
    toHeight,
    askAt: -Infinity,
    isEnding: false,
    isEndGiven: false,
  };
}

export function isTroubled({ failures, isSlow }: DeliveryReader): boolean {
  return failures > 0 || isSlow;
}

/** Whether the endpoint fails so that only one delivery at a time asks whether it is back. */
export function isDown({ failures }: DeliveryReader): boolean {
  return breakAfter(failures) > 0;
}

/** After so many failures in a row it is the endpoint that fails, and not what it was sent. */
const PROBED_FROM = 8;
/** Now and then it is an attempt all the same: others wait behind it. Odd, for what is due again may be every second one. */
const PROBES_OF_ONE = 5;
/** Of the first so many that wait one after the other is asked with: it may be just one of them that the endpoint fails at. */
const PROBED_AMONG = 4;

/**
 * Whether a failure of what was not sent before uses up no attempt: where that may be what fails, it has to make way for the
 * next. One that keeps the order waits at what is new until that is days old; what is replayed does not grow old.
 */
function isProbed(reader: DeliveryReader, track: Track): boolean {
  const { failures } = reader;
  const isWaitedAt = reader.subscription.ordered && track === reader.log;
  return isDown(reader) && (isWaitedAt || (failures >= PROBED_FROM && failures % PROBES_OF_ONE > 0));
}

/** Whether what the store keeps of its failed deliveries is what it kept when it was asked last. */
export function isKeptKnown({ keptChanges, keptLearnt }: DeliveryReader): boolean {
  return keptChanges === keptLearnt;
}

/** Whether it has something that may be posted at this moment. */
export function canPost(reader: DeliveryReader, nowAt: number): boolean {
  if (reader.isClosed || nowAt < reader.notBeforeAt) return false;
  if (reader.inFlight >= (isDown(reader) || reader.subscription.ordered ? 1 : reader.limit)) return false;
  if (reader.due.length > 0) return true;
  // One that keeps the order waits at what failed, and until it is known whether anything has.
  if (reader.subscription.ordered && (reader.retryingCount + reader.unsettledFailures > 0 || !isKeptKnown(reader))) {
    return false;
  }
  return reader.log.queue.length > 0 || (reader.replay?.queue.length ?? 0) > 0;
}

/**
 * Takes what is to be posted next: what is due again (early, as a probe), what is new, then what is replayed. Where the order
 * does not matter, what is due again and the rest take turns: it may be just what the endpoint fails at.
 */
export function takeNext(reader: DeliveryReader, nowMs: number): Post {
  const isNewNext = !reader.subscription.ordered && reader.wasAgain &&
    reader.log.queue.length + (reader.replay?.queue.length ?? 0) > 0;
  const kept = isNewNext ? undefined : reader.due.shift();
  reader.wasAgain = kept !== undefined;
  if (kept !== undefined) {
    const { delivery: again, event } = kept;
    return { event, track: undefined, again, replayId: null, isProbe: again.dueAtMs! > nowMs };
  }
  const track = reader.log.queue.length > 0 ? reader.log : reader.replay!;
  const isProbe = isProbed(reader, track);
  const among = isProbe && !reader.subscription.ordered ? Math.min(PROBED_AMONG, track.queue.length) : 1;
  // Halved, for what is due again may be every second one.
  const place = (reader.failures >> 1) % among;
  const event = track.queue.splice(place, 1)[0]!;
  track.outstanding.add(event.sequence);
  const replayId = track === reader.replay ? reader.replay.id : null;
  return { event, track, again: undefined, replayId, isProbe };
}

/**
 * Puts back what was not attempted after all, or was a probe that failed: it is next again, in the order of the log. What is
 * kept is read again: when it is due may have been brought back meanwhile.
 */
export function putBack(reader: DeliveryReader, { track, event, again }: Post): void {
  if (again !== undefined) reader.retrying.delete(event.sequence);
  if (track === undefined) return;
  track.outstanding.delete(event.sequence);
  track.queue.push(event);
  track.queue.sort((a, b) => a.sequence - b.sequence);
}

/** Lets go of what was forgotten, which the store has counted. */
export function letGo(reader: DeliveryReader, forgotten: number): void {
  const { log, replay, due, retrying } = reader;
  for (const { queue } of replay === undefined ? [log] : [log, replay]) {
    while (queue.length > 0 && queue[0]!.sequence <= forgotten) queue.shift();
  }
  for (const { delivery: { sequence } } of due) if (sequence <= forgotten) retrying.delete(sequence);
  reader.due = due.filter(({ delivery }) => delivery.sequence > forgotten);
  if (reader.due.length < due.length) reader.keptChanges++;
}

/** Takes what is due again of an event that a replay has just sent; false when nothing is. */
export function takeDue(reader: DeliveryReader, sequence: number): boolean {
  const place = reader.due.findIndex(({ delivery }) => delivery.sequence === sequence);
  return place >= 0 && reader.due.splice(place, 1).length > 0;
}

/** Learns from an attempt how the endpoint does and how much it can take. */
export function learn(
  reader: DeliveryReader,
  { outcome, durationMs }: Pick<NewAttempt, "outcome" | "durationMs">,
  { nowMs, nowAt, slowMs, mostPosts }: { nowMs: number; nowAt: number; slowMs: number; mostPosts: number },
): void {
  const failed = outcome === "retry" || outcome === "dead";
  reader.failures = failed ? reader.failures + 1 : 0;
  reader.isKnownToFail = failed;
  reader.isSlow = durationMs > slowMs;
  if (failed) reader.limit = 1;
  else if (reader.isSlow) reader.limit = Math.max(1, reader.limit >> 1);
  else reader.limit = Math.min(mostPosts, reader.limit + 1);
  reader.failingSinceMs = failed ? reader.failingSinceMs ?? nowMs : null;
  reader.notBeforeAt = nowAt + breakAfter(reader.failures);
}

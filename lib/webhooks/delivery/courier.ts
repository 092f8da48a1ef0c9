import { setImmediate } from "node:timers";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import { createLoop } from "../../loop.ts";
import type { LoggedEvent } from "../../store/event.ts";
import { isFenced, type LogBounds, type Store } from "../../store/store.ts";
import { MAX_SETTLED_WRITES, type NewAttempt, PARTITIONS } from "../../store/webhook.ts";
import type { Attempter, EventMessage } from "./attempt.ts";
import { createDueTimes } from "./due_times.ts";
import { createGathering } from "./gathering.ts";
import { createPartitions } from "./partitions.ts";
import { createReading, READ_AHEAD } from "./reading.ts";
import {
  canPost,
  cursorOf,
  type DeliveryReader,
  isKeptKnown,
  learn,
  letGo,
  type Post,
  putBack,
  takeDue,
  takeNext,
} from "./reader.ts";
import { createReaders } from "./readers.ts";
import { breakAfter } from "./schedule.ts";
import {
  ageOf,
  failedDelivery,
  isDone,
  leaveOutNoted,
  type Outcome,
  settlementsOf,
  takeOld,
  writesOf,
} from "./settlement.ts";
import { createVetting, type VettingParts } from "./vetting.ts";
import { COURIER_LIMITS, type CourierLimits, createPostQueue } from "./post_queue.ts";

export interface CourierParts extends Omit<VettingParts, "refresh"> {
  store: Pick<Store, "events" | "deliveries" | "leases" | "subscriptions" | "registers" | "isShared">;
  attempt: Attempter;
  /** What is sent of an event. */
  message(event: LoggedEvent): EventMessage;
  /** Unique to this process. */
  holder: string;
  /** Told of every attempt. Must not throw. */
  onAttempt(attempt: NewAttempt): void;
  limits?: Partial<CourierLimits>;
  /** How long what an attempt came to waits for others to share its commit with; 40 ms when absent. */
  gatherMs?: number;
}

export interface Courier {
  start(): void;
  /** The log has grown. */
  wake(): void;
  /** A subscription was made or changed, or has a replay. */
  changed(subscriptionId: string): Promise<void>;
  /** Whether nothing is under way, and nothing becomes due within so long. */
  isIdle(forMs: number): Promise<boolean>;
  /** Begins nothing more, waits for what is under way at most so long, writes it down and gives its leases back. */
  stop(options: { drainMs: number }): Promise<void>;
}

/** Without being woken the store is asked this often: others write to it too. */
const LOOK_MS = 1_000;
const PUT_OFF_MS = 5_000;
/** Cursors that moved over what nobody hears are written this often. */
const SAVE_MS = 60_000;
const LOG_PAGE = 1_000;
const MOST_UNSETTLED = 2_000;
const PAUSE_MS = 1_000;
const TRIES_WHEN_STOPPING = 3;

/**
 * Delivers the log to its subscriptions, at least once and never lost. Each subscription is a reader of the log with a
 * cursor; what fails is kept beside it and tried again. A new event is read once and handed to those at the end of the
 * log whom it matches; who is behind reads by itself. What many posts came to is one commit.
 */
export function createCourier(parts: CourierParts): Courier {
  const { store, clock, onProblem, gatherMs = 40 } = parts;
  const limits = { ...COURIER_LIMITS, ...parts.limits };
  const partitions = createPartitions(store, clock, parts.holder);
  const postQueue = createPostQueue(limits);
  const reading = createReading(store, clock);
  const vetting = createVetting({ ...parts, refresh: () => readers.refresh() });
  const dueTimes = createDueTimes({ clock, bringBack: (latestDueAtMs) => readers.bringBackDue(latestDueAtMs) });
  const readers = createReaders({ store, partitions, clock, latestDueAtMs: dueTimes.latestDueAtMs });
  const { active } = readers;
  /** How many outcomes of each partition are not written down yet. */
  const unwritten = new Array<number>(PARTITIONS).fill(0);
  const looking = new Set<Promise<void>>();
  const aborting = new AbortController();
  /** Readers at the end of the log have been handed all events up to here. */
  let tail = 0;
  let networkMs = 0;
  /** Readers hold nothing any more that was forgotten up to here, but what is under way. */
  let letGoUpTo = 0;
  /** Readers are taken in from here on: before, the end of the log is not known. */
  let isLoaded = false;
  let savedAt = clock.monotonicMs();
  let isStopping = false;
  let isPumping = false;
  let whenIdle: (() => void) | undefined;

  const unsettled = createGathering<Outcome>({
    write,
    weigh: writesOf,
    wait: clock.wait,
    gatherMs,
    most: MAX_SETTLED_WRITES,
  });
  const loop = createLoop({
    step,
    wait: clock.wait,
    onProblem: (cause) => onProblem("what is to be delivered cannot be read; trying on", cause),
  });

  /** One look at everything: what is held, who listens, what is new, what has become due. */
  async function step(): Promise<number> {
    if (await partitions.keep(isBusy)) readers.toBeLoaded();
    // Before it is looked who listens: a network that goes back has some hear more before there is more.
    const bounds = await lookAtLog();
    if (!isLoaded) tail = bounds.last;
    isLoaded = true;
    await readers.load();
    networkMs = ((await store.events.watcherState())?.latestLedgerCloseTime ?? 0) * 1_000;
    await dueTimes.mend();
    await followLog(bounds);
    postQueue.sweep(clock.monotonicMs());
    for (const reader of active) advance(reader);
    pump();
    if (clock.monotonicMs() - savedAt >= SAVE_MS) saveCursors();
    return nextLookMs();
  }

  /** A log that is shorter than it was is of a database that has lost its last commits: what is known here of it is, too. */
  async function lookAtLog(): Promise<LogBounds> {
    const before = tail;
    const bounds = await store.events.bounds();
    if (bounds.last < before) {
      tail = bounds.last;
      reading.forget();
      readers.closeAll();
    }
    return bounds;
  }

  /** Whether posts to a partition's subscriptions are under way, or what they came to is not written down. */
  function isBusy(partition: number): boolean {
    return unwritten[partition]! > 0 ||
      [...readers.all()].some((reader) => reader.partition === partition && reader.inFlight > 0);
  }

  function nextLookMs(): number {
    let restMs = postQueue.underWay > 0 ? Math.min(LOOK_MS, limits.slowMs / 2) : LOOK_MS;
    const [nowMs, nowAt] = [clock.now(), clock.monotonicMs()];
    for (const { notBeforeAt, nextDueAtMs } of active) {
      if (notBeforeAt > nowAt) restMs = Math.min(restMs, notBeforeAt - nowAt);
      else if (nextDueAtMs !== null && nextDueAtMs > nowMs) restMs = Math.min(restMs, nextDueAtMs - nowMs);
    }
    return Math.max(restMs, 1);
  }

  // What is new.

  async function followLog({ last, forgotten }: LogBounds): Promise<void> {
    if (forgotten > letGoUpTo) {
      for (const reader of active) {
        letGo(reader, forgotten);
        // One that keeps the order may be waiting at what was forgotten before it was due.
        if (reader.subscription.ordered && reader.nextDueAtMs !== null) reader.keptChanges++;
      }
    }
    letGoUpTo = forgotten;
    while (tail < last && !isStopping) {
      const events = readers.isEmpty()
        ? []
        : await store.events.read({ filter: {}, after: tail, upTo: last, order: "asc", limit: LOG_PAGE });
      for (const event of events) for (const reader of readers.matching(event)) hand(reader, event);
      tail = events.length < LOG_PAGE ? last : events.at(-1)!.sequence;
      pump();
      await yieldToOthers();
    }
  }

  /** One that cannot take more for now goes on reading by itself, from here on. */
  function hand(reader: DeliveryReader, event: LoggedEvent): void {
    if (!reader.isAtTip || reader.isClosed) return;
    active.add(reader);
    if (reader.log.queue.length >= READ_AHEAD) {
      // It is not advanced here: before the first event of a page `tail` is still where it now stands itself.
      reader.isAtTip = false;
      reader.log.readThrough = event.sequence - 1;
      return;
    }
    reader.log.queue.push(event);
    advance(reader);
  }

  // What each does next.

  function advance(reader: DeliveryReader): void {
    if (reader.isClosed || isStopping) return;
    const { log } = reader;
    if (!reader.isAtTip && log.readThrough === tail) reader.isAtTip = true;
    const nowAt = clock.monotonicMs();
    giveUpOld(reader);
    if (reader.replay !== undefined && !reader.replay.isEnding && isDone(reader.replay)) {
      reader.replay.isEnding = true;
      note({ reader });
    }
    const mayPost = canPost(reader, nowAt);
    const isVetted = vetting.isFresh(reader, nowAt);
    const mayLook = !reader.isLooking && unsettled.size <= MOST_UNSETTLED;
    if (mayLook && (reading.isNeeded(reader, tail) || (mayPost && !isVetted))) look(reader);
    if (mayPost && isVetted) postQueue.offer(reader);
    else if (isQuiet(reader)) active.delete(reader);
  }

  function isQuiet(reader: DeliveryReader): boolean {
    return reader.isAtTip && !reader.isLooking && reader.inFlight === 0 && reader.log.queue.length === 0 &&
      reader.replay === undefined && reader.due.length === 0 && reader.retrying.size === 0 &&
      reader.nextDueAtMs === null && isKeptKnown(reader);
  }

  /** Lets `stop` wait for it; what the store fails on is looked at again later. */
  function look(reader: DeliveryReader): void {
    reader.isLooking = true;
    const work = readFor(reader).catch((cause) => {
      onProblem("the store fails on what is to be delivered; trying on", cause);
      reader.notBeforeAt = clock.monotonicMs() + PUT_OFF_MS;
    }).finally(() => {
      looking.delete(work);
      reader.isLooking = false;
      if (reader.notBeforeAt <= clock.monotonicMs()) advance(reader);
      pump();
    });
    looking.add(work);
  }

  async function readFor(reader: DeliveryReader): Promise<void> {
    if (!await reading.read(reader, tail)) return readers.close(reader);
    if (!vetting.isFresh(reader, clock.monotonicMs())) await vetting.look(reader);
  }

  // Posting.

  function pump(): void {
    while (!isStopping && unsettled.size <= MOST_UNSETTLED) {
      const reader = postQueue.next();
      if (reader === undefined) return;
      const nowAt = clock.monotonicMs();
      if (!canPost(reader, nowAt)) continue;
      if (!readers.isOwn(reader) || !partitions.holds(reader.partition)) continue;
      void makePost(reader, takeNext(reader, clock.now()), nowAt);
      advance(reader);
    }
  }

  /**
   * What comes to an end in one turn of the event loop makes room for posts that are begun together: a receiver that each
   * of them would wake by itself costs the sender more than the post.
   */
  function pumpSoon(): void {
    if (isPumping) return;
    isPumping = true;
    setImmediate(() => {
      isPumping = false;
      pump();
    });
  }

  async function makePost(reader: DeliveryReader, post: Post, nowAt: number): Promise<void> {
    const slot = postQueue.begin(reader, nowAt);
    try {
      // It has waited for so long that its key may be disabled by now; and while that is looked up it may become another's.
      if (!vetting.isFresh(reader, nowAt)) {
        await vetting.look(reader);
        const isOwn = !reader.isClosed && readers.isOwn(reader) && partitions.holds(reader.partition);
        if (isStopping || !isOwn || !vetting.isFresh(reader, clock.monotonicMs())) return putBack(reader, post);
      }
      const { secret } = reader.subscription;
      const made = await parts.attempt({
        recipient: reader.recipient!,
        message: parts.message(post.event),
        attempts: post.again?.attempts ?? 0,
        ageMs: ageOf(post, networkMs),
        kind: post.isProbe ? "probe" : "delivery",
        replayId: post.replayId,
        atMs: clock.now(),
      }, aborting.signal);
      // Of what a stop cut off nothing is known: it is delivered again.
      if (aborting.signal.aborted && made.outcome !== "delivered") return;
      // It may be refused by who relies on a secret that is newer than what it was signed with.
      const isOutdated = made.outcome === "rejected" && reader.subscription.secret !== secret;
      const heeded = isOutdated ? { ...made, outcome: "retry" as const, nextAttemptAtMs: clock.now() } : made;
      if (!reader.isClosed) attempted(reader, post, heeded);
    } catch (cause) {
      // Endpoints and networks do not get here: something is wrong on this side.
      putBack(reader, post);
      reader.notBeforeAt = clock.monotonicMs() + PUT_OFF_MS;
      onProblem("a delivery could not be attempted", cause);
    } finally {
      postQueue.end(slot);
      if (postQueue.underWay === 0) whenIdle?.();
      advance(reader);
      pumpSoon();
    }
  }

  function attempted(reader: DeliveryReader, post: Post, made: NewAttempt): void {
    const nowMs = clock.now();
    learn(reader, made, {
      nowMs,
      nowAt: clock.monotonicMs(),
      slowMs: limits.slowMs,
      mostPosts: limits.postsPerEndpoint,
    });
    parts.onAttempt(made);
    if (post.isProbe && made.outcome === "retry") {
      putBack(reader, post);
      letGo(reader, letGoUpTo);
      return note({ reader, attempt: { ...made, nextAttemptAtMs: nowMs + breakAfter(reader.failures) } });
    }
    const { sequence } = post.event;
    const failed = made.outcome === "delivered" ? undefined : failedDelivery(post, made, networkMs);
    const isAgain = post.track === undefined || takeDue(reader, sequence);
    if (post.replayId !== null && failed === undefined && !isAgain) reader.replayed.add(sequence);
    const delivery = { sequence, track: post.track, isAgain, failed };
    note({ reader, attempt: made, delivery, stepsBack: dueTimes.stepsBack });
  }

  /** While an endpoint is down, what has waited for days is given up without an attempt of its own. */
  function giveUpOld(reader: DeliveryReader): void {
    for (const delivery of takeOld(reader, networkMs)) note({ reader, delivery });
  }

  // Writing down.

  function note(outcome: Outcome): void {
    unwritten[outcome.reader.partition]!++;
    if (outcome.delivery?.failed !== undefined) outcome.reader.unsettledFailures++;
    unsettled.add(outcome);
  }

  /** Writes until it is written; false when a stopping courier gives up: it is delivered again. */
  async function write(batch: Outcome[]): Promise<boolean> {
    const ofReader = new Map(batch.map(({ reader }) => [reader.subscription.id, reader]));
    for (const { reader } of batch) if (reader.isAtTip) reader.log.readThrough = tail;
    const settlements = settlementsOf(batch.filter(({ reader }) => !reader.isClosed));
    for (let failures = 0;; failures++) {
      try {
        if (failures > 0) await lookAtLog();
        const own = settlements.filter(({ subscriptionId }) => !ofReader.get(subscriptionId)!.isClosed);
        const leases = new Set(own.map(({ subscriptionId }) => ofReader.get(subscriptionId)!.lease));
        if (failures > 0) await leaveOutNoted(store, own);
        if (own.length > 0) await settle({ leases: [...leases], settlements: own });
        for (const { subscriptionId, cursor = 0 } of own) {
          const reader = ofReader.get(subscriptionId)!;
          reader.writtenCursor = Math.max(reader.writtenCursor, cursor);
        }
        break;
      } catch (cause) {
        if (!isFenced(cause) && failures === 0) onProblem("attempts cannot be written down; trying on", cause);
        if (isStopping && failures >= TRIES_WHEN_STOPPING) return false;
        if (failures > 0) await clock.wait(PAUSE_MS);
      }
    }
    for (const { reader } of batch) unwritten[reader.partition]!--;
    await written(batch);
    return true;
  }

  /** What it was fenced off from is another's, and closed: without that it may go through the next time. */
  async function settle(what: Parameters<typeof store.deliveries.settle>[0]): Promise<void> {
    try {
      await store.deliveries.settle(what);
    } catch (cause) {
      if (isFenced(cause)) await readers.closeLost();
      throw cause;
    }
  }

  async function written(batch: Outcome[]): Promise<void> {
    const kept = new Set<DeliveryReader>();
    for (const { reader, delivery, stepsBack } of batch) {
      if (delivery === undefined) continue;
      if (delivery.failed !== undefined) reader.unsettledFailures--;
      if (delivery.failed !== undefined && stepsBack !== undefined) dueTimes.written(stepsBack);
      const { sequence } = delivery;
      // What a replay has delivered may have become due again meanwhile.
      const isAgain = delivery.isAgain || (reader.replayed.delete(sequence) && reader.retrying.has(sequence));
      if (isAgain) reader.retrying.delete(sequence);
      if (delivery.failed !== undefined || isAgain) kept.add(reader);
    }
    for (const reader of kept) {
      reader.keptChanges++;
      // Before that is learnt a replay may deliver what is kept.
      reader.hasFailed = true;
      // It was quiet: a clock that is set back from now on may put off what it keeps.
      if (!reader.isClosed) active.add(reader);
    }
    try {
      for (const reader of kept) if (!await reading.learnDue(reader)) readers.close(reader);
    } catch (cause) {
      onProblem("what is kept of failed deliveries cannot be read; trying on", cause);
    }
    for (const { reader } of batch) {
      readers.forgetReplay(reader);
      if (!reader.isClosed) active.add(reader);
      advance(reader);
    }
    pump();
  }

  function saveCursors(): void {
    savedAt = clock.monotonicMs();
    for (const reader of readers.all()) {
      if (reader.isAtTip) reader.log.readThrough = tail;
      if (cursorOf(reader.log) > reader.log.savedCursor) note({ reader });
    }
  }

  /** Whether nothing is left to do before then. */
  async function isIdle(forMs: number): Promise<boolean> {
    if (!readers.isLoaded() || postQueue.underWay + looking.size + unsettled.size > 0) return false;
    if ((await store.events.bounds()).last > tail) return false;
    const [untilMs, untilAt] = [clock.now() + forMs, clock.monotonicMs() + forMs];
    return [...active].every((reader) =>
      reader.isHeldBack || reader.notBeforeAt >= untilAt ||
      (reader.isAtTip && reader.log.queue.length + reader.due.length === 0 && reader.replay === undefined &&
        isKeptKnown(reader) && (reader.nextDueAtMs === null || reader.nextDueAtMs >= untilMs))
    );
  }

  async function drain(drainMs: number): Promise<void> {
    const idle = new Promise<void>((resolve) => {
      whenIdle = resolve;
      if (postQueue.underWay === 0) resolve();
    });
    const cut = new AbortController();
    if (drainMs > 0) await Promise.race([idle, clock.wait(drainMs, cut.signal)]);
    cut.abort();
    aborting.abort();
    await idle;
    await Promise.all(looking);
  }

  return {
    start: loop.start,
    wake: loop.wake,
    async changed(subscriptionId) {
      if (!isLoaded) return;
      const reader = await readers.look(subscriptionId);
      if (reader === undefined) return;
      advance(reader);
      pump();
    },
    isIdle,
    async stop({ drainMs }) {
      await loop.stop();
      isStopping = true;
      await drain(drainMs);
      saveCursors();
      await unsettled.drain();
      await partitions.release().catch((cause) => onProblem("leases could not be given back", cause));
    },
  };
}

/*
 * Runs the delivery loop: it loads consumers, reads new events, and dispatches posts. `consumers.ts` opens consumers,
 * `consumer.ts` has their state, `reading.ts` asks the store, `posting.ts` posts, `commit.ts` commits, and
 * `partitions.ts` has the leases.
 */

import { setImmediate as yieldToOthers } from "node:timers/promises";
import { createStepWatch } from "../../clock.ts";
import { createLoop } from "../../loop.ts";
import type { LoggedEvent } from "../../store/event.ts";
import type { Store } from "../../store/store.ts";
import { CLOCK_STEP_MS, type NewAttempt } from "../../store/webhook.ts";
import type { Attempter, EventMessage } from "./attempt.ts";
import { createCommits } from "./commit.ts";
import {
  askForDue,
  canPost,
  type Consumer,
  endReplay,
  isClosed,
  isIdleUntil,
  isQuiet,
  overflow,
  proceed,
  PUT_OFF_MS,
  putOff,
  restOf,
  settled,
} from "./consumer.ts";
import { createConsumers } from "./consumers.ts";
import { createEligibility, type EligibilityParts } from "./eligibility.ts";
import { createLogEnd } from "./log_end.ts";
import { createLeaseLoop, createPartitions } from "./partitions.ts";
import { createPostQueue, oncePerTurn, WORKER_LIMITS, type WorkerLimits } from "./post_queue.ts";
import { createPosting } from "./posting.ts";
import { createReading, mayHaveMore } from "./reading.ts";
import { enqueue, forget, READ_AHEAD, take } from "./ready.ts";
import { giveUpOld, type Outcome, positionNow } from "./settlement.ts";

export interface WorkerParts extends Omit<EligibilityParts, "refresh"> {
  store: Pick<Store, "events" | "deliveries" | "leases" | "subscriptions" | "sharedState" | "isShared">;
  attempt: Attempter;
  /** The message of an event. */
  message(event: LoggedEvent): EventMessage;
  /** The holder of the leases, unique to this process. */
  holder: string;
  /** Called after every attempt. Must not throw. */
  onAttempt(attempt: NewAttempt): void;
  limits?: Partial<WorkerLimits>;
  /** How long an outcome waits for others to share its commit; 40 ms when absent. */
  gatherMs?: number;
}

export interface DeliveryWorker {
  start(): void;
  /** Call it when the log has grown. */
  wake(): void;
  /** Call it when a subscription was created or changed, or has a replay. */
  changed(subscriptionId: string): Promise<void>;
  /** Whether no post is under way, and none becomes due within this time. */
  isIdle(forMs: number): Promise<boolean>;
  /**
   * Starts no more posts, waits for those under way for at most `drainMs`, commits their outcomes and releases its
   * leases.
   */
  stop(options: { drainMs: number }): Promise<void>;
}

/** How often the loop reads the store without a wake-up: other processes write to it too. */
const LOOK_MS = 1_000;
/** How many outcomes may wait for their commit. */
const MOST_PENDING = 2_000;
/** How often cursors that moved over unmatched events are committed. */
const SAVE_MS = 60_000;

/**
 * Delivers the log to its subscriptions, at least once. Each subscription is a consumer with a cursor. The store has
 * the failed deliveries, and this process only those in flight. The worker reads a new event once and passes it to each
 * matching consumer at the end of the log. Many outcomes share a commit.
 */
export function createDeliveryWorker(parts: WorkerParts): DeliveryWorker {
  const { store, clock, onProblem, gatherMs = 40 } = parts;
  const limits = { ...WORKER_LIMITS, ...parts.limits };
  const partitions = createPartitions(store, clock, parts.holder);
  const consumers = createConsumers({ store, partitions, clock });
  const reading = createReading(store, clock);
  const log = createLogEnd(store, () => {
    reading.forget();
    consumers.close(consumers.all());
  });
  const queue = createPostQueue(limits);
  const eligibility = createEligibility({ ...parts, refresh: consumers.refresh });
  const posting = createPosting({ ...parts, limits, queue, eligibility, log, mayBegin });
  const commits = createCommits({ store, clock, gatherMs, onProblem, beforeRetry: log.look, fenced, committed });
  const stepOfClock = createStepWatch(clock);
  /** Reads of consumers under way. */
  const asking = new Set<Promise<void>>();
  const state = { savedAt: clock.monotonicMs(), forgotten: 0, isStopping: false };
  const loop = createLoop({
    step,
    wait: clock.wait,
    onProblem: (cause) => onProblem("webhook deliveries cannot be read; retrying", cause),
  });
  const leaseLoop = createLeaseLoop(partitions, { clock, isBusy, onChange: loop.wake, onProblem });
  const dispatchSoon = oncePerTurn(dispatch);

  /** Whether a partition has posts under way, or outcomes to commit. */
  function isBusy(partition: number): boolean {
    return commits.isPending(partition) ||
      [...consumers.all()].some((consumer) => consumer.partition === partition && consumer.posts > 0);
  }

  /** One pass: reads the log's end, loads subscriptions, reads new events, and schedules consumers. */
  async function step(): Promise<number> {
    const bounds = await log.look();
    await consumers.load();
    const isSetBack = stepOfClock() <= -CLOCK_STEP_MS;
    const hasForgotten = bounds.forgotten > state.forgotten;
    state.forgotten = bounds.forgotten;
    for (const consumer of consumers.all()) {
      if (hasForgotten) forget(consumer, bounds.forgotten);
      // The store knows what is due now. An ordered consumer may wait at a deleted event.
      if (isSetBack || hasForgotten) askForDue(consumer);
    }
    while (log.tail < bounds.last && !state.isStopping) {
      await log.readOn(bounds.last, consumers.isEmpty() ? undefined : hand);
      dispatch();
      await yieldToOthers();
    }
    queue.sweep(clock.monotonicMs());
    for (const consumer of consumers.all()) if (!isQuiet(consumer)) schedule(consumer);
    dispatch();
    if (clock.monotonicMs() - state.savedAt >= SAVE_MS) saveCursors();
    return restMs();
  }

  function restMs(): number {
    let restMs = queue.underWay > 0 ? Math.min(LOOK_MS, limits.slowMs / 2) : LOOK_MS;
    const [nowMs, nowAt] = [clock.now(), clock.monotonicMs()];
    for (const consumer of consumers.all()) restMs = Math.min(restMs, restOf(consumer, nowMs, nowAt));
    return Math.max(restMs, 1);
  }

  /** Passes a new event to the consumers that follow the log. A full one reads it later. */
  function hand(event: LoggedEvent): void {
    for (const consumer of consumers.matching(event)) {
      // A new subscription may be ahead of the last read of the log's end.
      if (consumer.work.state !== "following" || event.sequence <= consumer.cursor.scannedTo) continue;
      if (consumer.ready.length >= READ_AHEAD) {
        overflow(consumer, event);
        continue;
      }
      enqueue(consumer, [], [event], consumer.cursor);
      schedule(consumer);
    }
  }

  /** Decides what a consumer does next: read the store, queue for a post, or rest. */
  function schedule(consumer: Consumer): void {
    if (isClosed(consumer) || state.isStopping) return;
    const nowAt = clock.monotonicMs();
    proceed(consumer, log, nowAt);
    for (const outcome of giveUpOld(consumer, log.networkMs)) commits.add(outcome);
    if (endReplay(consumer)) commits.add({ consumer });
    if (commits.size <= MOST_PENDING && mayHaveMore(consumer, log.tail, clock.now(), nowAt)) ask(consumer);
    if (canPost(consumer, nowAt)) queue.offer(consumer);
  }

  /** Reads a consumer's next deliveries. */
  function ask(consumer: Consumer): void {
    const answered = reading.read(consumer, log.tail).then((isThere) => {
      if (!isThere) consumers.close([consumer]);
    }, (cause) => {
      onProblem("the next webhook deliveries cannot be read; retrying", cause);
      putOff(consumer, clock.monotonicMs() + PUT_OFF_MS, false);
    }).finally(() => {
      asking.delete(answered);
      schedule(consumer);
      dispatch();
    });
    asking.add(answered);
  }

  /** Starts posts while there are free slots. */
  function dispatch(): void {
    while (!state.isStopping && commits.size <= MOST_PENDING) {
      const consumer = queue.next();
      if (consumer === undefined) return;
      if (canPost(consumer, clock.monotonicMs()) && mayBegin(consumer)) void post(consumer);
    }
  }

  async function post(consumer: Consumer): Promise<void> {
    const posted = posting.post(consumer, take(consumer, clock.now()));
    schedule(consumer);
    const outcome = await posted;
    if (outcome !== undefined) commits.add(outcome);
    schedule(consumer);
    dispatchSoon();
  }

  /** Whether this worker may post to a consumer. */
  function mayBegin(consumer: Consumer): boolean {
    return !state.isStopping && !isClosed(consumer) && consumers.isOwn(consumer) &&
      partitions.holds(consumer.partition);
  }

  async function fenced(of: Consumer[]): Promise<void> {
    await partitions.recheck();
    consumers.closeFenced(of);
  }

  function committed(outcomes: Outcome[]): void {
    for (const { consumer, delivery } of outcomes) settled(consumer, delivery, clock.now());
    for (const { consumer } of outcomes) schedule(consumer);
    dispatch();
  }

  function saveCursors(): void {
    state.savedAt = clock.monotonicMs();
    for (const consumer of consumers.all()) {
      if (positionNow(consumer) > consumer.cursor.saved) commits.add({ consumer });
    }
  }

  return {
    start() {
      leaseLoop.start();
      loop.start();
    },
    wake: loop.wake,
    async changed(subscriptionId) {
      if (!log.isKnown) return;
      await consumers.load(subscriptionId);
      const consumer = consumers.get(subscriptionId);
      if (consumer === undefined) return;
      schedule(consumer);
      dispatch();
    },
    async isIdle(forMs) {
      if (!consumers.isLoaded() || queue.underWay + asking.size + commits.size > 0) return false;
      if ((await store.events.bounds()).last > log.tail) return false;
      const [untilMs, untilAt] = [clock.now() + forMs, clock.monotonicMs() + forMs];
      return [...consumers.all()].every((consumer) => isIdleUntil(consumer, untilMs, untilAt));
    },
    async stop({ drainMs }) {
      await loop.stop();
      state.isStopping = true;
      await posting.drain(drainMs);
      await Promise.all(asking);
      saveCursors();
      await commits.drain();
      await leaseLoop.stop();
      await partitions.release().catch((cause) => onProblem("webhook leases cannot be released", cause));
    },
  };
}

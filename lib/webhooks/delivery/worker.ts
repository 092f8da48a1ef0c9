/*
 * Runs the delivery loop: it loads consumers, reads new events, and dispatches posts. `consumers.ts` opens consumers,
 * `consumer.ts` has their state, `reading.ts` asks the store, `posting.ts` posts, `commit.ts` commits, and
 * `partitions.ts` has the leases.
 */

import { setImmediate as yieldToOthers } from "node:timers/promises";
import { createStepWatch } from "../../clock.ts";
import { createLoop } from "../../loop.ts";
import { type LoggedEvent, matches } from "../../store/event.ts";
import { LogTail } from "../../store/log_tail.ts";
import type { Store } from "../../store/store.ts";
import { CLOCK_STEP_MS } from "../../store/webhook.ts";
import { createCommits, type Outcome, positionNow } from "./commit.ts";
import {
  become,
  canPost,
  type Consumer,
  enqueue,
  isClosed,
  isIdleUntil,
  proceed,
  putOff,
  requeue,
  restOf,
  settled,
} from "./consumer.ts";
import { createConsumers } from "./consumers.ts";
import { isDone } from "./cursor.ts";
import { createPartitions } from "./partitions.ts";
import { createPostQueue, oncePerTurn, WORKER_LIMITS, type WorkerLimits } from "./post_queue.ts";
import { createPosting, type PostingParts } from "./posting.ts";
import { createLogPages, mayHaveMore, READ_AHEAD, readOn } from "./reading.ts";

export interface WorkerParts
  extends Omit<PostingParts, "store" | "limits" | "queue" | "networkMs" | "mayPost" | "refresh"> {
  store: Pick<Store, "events" | "references" | "deliveries" | "leases" | "subscriptions" | "sharedState" | "isShared">;
  /** The holder of the leases, unique to this process. */
  holder: string;
  limits?: Partial<WorkerLimits>;
  /** How long an outcome waits for others to share its commit; 40 ms when absent. */
  gatherMs?: number;
}

/** How often the loop reads the store without a wake-up: other processes write to it too. */
const LOOK_MS = 1_000;
/** How many outcomes may wait for their commit. */
const MOST_PENDING = 2_000;
/** How often cursors that moved over unmatched events are committed. */
const SAVE_MS = 60_000;
/** How long a consumer rests after a failure on our side. */
const PUT_OFF_MS = 5_000;

/**
 * Delivers the log to its subscriptions, at least once. Each subscription is a consumer with a cursor. The store has
 * the failed deliveries, and this process only those in flight. The worker reads a new event once and passes it to each
 * matching consumer at the end of the log. Many outcomes share a commit.
 */
export function createDeliveryWorker(parts: WorkerParts) {
  const { store, clock, onProblem, gatherMs = 40 } = parts;
  const limits = { ...WORKER_LIMITS, ...parts.limits };
  const partitions = createPartitions(store, clock, parts.holder);
  const consumers = createConsumers({ store, partitions, clock });
  const pages = createLogPages(store);
  const log = new LogTail(store, () => {
    pages.clear();
    consumers.close(consumers.all());
  });
  const queue = createPostQueue(limits);
  /** Network time: the close time of the latest ledger, Unix ms. */
  const networkMs = () => (log.watcher?.latestLedgerCloseTime ?? 0) * 1_000;
  const posting = createPosting({ ...parts, limits, queue, networkMs, mayPost, refresh: consumers.refresh });
  const beforeRetry = () => log.look();
  const commits = createCommits({ store, clock, gatherMs, onProblem, beforeRetry, fenced, committed });
  const stepOfClock = createStepWatch(clock);
  /** Reads of the store for consumers under way. */
  const asking = new Set<Promise<void>>();
  const state = { savedAt: clock.monotonicMs(), forgotten: 0, isStopping: false };
  const loop = createLoop({
    step,
    wait: clock.wait,
    onProblem: (cause) => onProblem("webhook deliveries cannot be read; retrying", cause),
  });
  /** Renews leases, and waits for nothing else. */
  const leaseLoop = createLoop({
    async step() {
      const before = partitions.leases();
      const restMs = await partitions.keep(isBusy);
      if (partitions.leases().some((lease, partition) => lease !== before[partition])) loop.wake();
      return restMs;
    },
    wait: clock.wait,
    onProblem: (cause) => onProblem("webhook leases cannot be renewed; retrying", cause),
  });
  const dispatchSoon = oncePerTurn(dispatch);

  /** Whether a partition has posts under way, or outcomes to commit. */
  function isBusy(partition: number): boolean {
    return commits.isPending(partition) ||
      [...consumers.all()].some((consumer) => consumer.partition === partition && consumer.posts > 0);
  }

  /** One pass: reads the log's end, loads subscriptions, reads new events, and schedules consumers. */
  async function step(): Promise<number> {
    const { last, forgotten } = await log.look();
    await consumers.load();
    const isSetBack = stepOfClock() <= -CLOCK_STEP_MS;
    const hasForgotten = forgotten > state.forgotten;
    state.forgotten = forgotten;
    if (hasForgotten) pages.clear();
    for (const consumer of consumers.all()) {
      if (hasForgotten && consumer.ready.some(({ event }) => event.sequence <= forgotten)) requeue(consumer);
      // The store knows what is due now. An ordered consumer may wait at a deleted event.
      if ((isSetBack || hasForgotten) && consumer.dueAtMs !== undefined) consumer.dueAtMs = 0;
    }
    while (log.tail < last && !state.isStopping) {
      await log.readOn(last, consumers.isEmpty() ? undefined : (events) => events.forEach(distribute));
      dispatch();
      await yieldToOthers();
    }
    queue.sweep(clock.monotonicMs());
    for (const consumer of consumers.all()) schedule(consumer);
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
  function distribute(event: LoggedEvent): void {
    for (const consumer of consumers.all()) {
      if (!matches(consumer.filter, event)) continue;
      // A new subscription may be ahead of the last read of the log's end.
      if (consumer.work.state !== "following" || event.sequence <= consumer.cursor.scannedTo) continue;
      if (consumer.ready.length < READ_AHEAD) {
        enqueue(consumer, [{ event, failed: null }], consumer.cursor);
        schedule(consumer);
        continue;
      }
      become(consumer, { state: "behind" });
      consumer.cursor.scannedTo = event.sequence - 1;
    }
  }

  /** Decides what a consumer does next: read the store, queue for a post, or rest. */
  function schedule(consumer: Consumer): void {
    if (isClosed(consumer) || state.isStopping) return;
    const nowAt = clock.monotonicMs();
    proceed(consumer, log, nowAt);
    for (const outcome of posting.giveUp(consumer)) commits.add(outcome);
    const { replay } = consumer;
    if (replay?.isOpen && isDone(replay)) {
      replay.isOpen = false;
      commits.add({ consumer, ended: replay });
    }
    if (commits.size <= MOST_PENDING && mayHaveMore(consumer, log.tail, clock.now(), nowAt)) {
      ask(
        consumer,
        readOn({ store, clock, pages }, consumer, log.tail).then((isThere) => isThere || consumers.close([consumer])),
      );
    }
    if (canPost(consumer, nowAt)) queue.offer(consumer);
  }

  /** Schedules a consumer again once the store has answered. */
  function ask(consumer: Consumer, answer: Promise<unknown>): void {
    const answered = answer.then(() => {}, (cause) => failed(consumer, cause)).finally(() => {
      asking.delete(answered);
      schedule(consumer);
      dispatch();
    });
    asking.add(answered);
  }

  function failed(consumer: Consumer, cause: unknown): void {
    onProblem("the next webhook deliveries cannot be read; retrying", cause);
    putOff(consumer, clock.monotonicMs() + PUT_OFF_MS, false);
  }

  /** Starts posts while there are free slots. */
  function dispatch(): void {
    while (!state.isStopping && commits.size <= MOST_PENDING) {
      const consumer = queue.next();
      if (consumer === undefined) return;
      if (mayPost(consumer, 0)) void post(consumer);
    }
  }

  async function post(consumer: Consumer): Promise<void> {
    const slot = queue.begin(consumer, clock.monotonicMs());
    const posted = posting.post(consumer);
    schedule(consumer);
    try {
      const outcome = await posted;
      if (outcome !== undefined) commits.add(outcome);
    } catch (cause) {
      failed(consumer, cause);
    }
    queue.end(slot);
    schedule(consumer);
    dispatchSoon();
  }

  /** Whether this worker may post to a consumer. */
  function mayPost(consumer: Consumer, begun = 1): boolean {
    return !state.isStopping && consumers.isOwn(consumer) && partitions.holds(consumer.partition) &&
      canPost(consumer, clock.monotonicMs(), begun);
  }

  async function fenced(of: Consumer[]): Promise<void> {
    await partitions.recheck();
    consumers.closeFenced(of);
  }

  function committed(outcomes: Outcome[]): void {
    for (const [consumer, own] of Map.groupBy(outcomes, ({ consumer }) => consumer)) {
      settled(consumer, own.flatMap(({ delivery }) => delivery ?? []), clock.now());
      schedule(consumer);
    }
    dispatch();
  }

  function saveCursors(): void {
    state.savedAt = clock.monotonicMs();
    for (const consumer of consumers.all()) {
      if (positionNow(consumer) > consumer.cursor.saved) commits.add({ consumer });
    }
  }

  return {
    start(): void {
      leaseLoop.start();
      loop.start();
    },
    /** Call it when the log has grown. */
    wake: loop.wake,
    /** Call it when a subscription was created or changed, or has a replay. */
    async changed(subscriptionId: string): Promise<void> {
      if (!log.isKnown) return;
      await consumers.load(subscriptionId);
      const consumer = consumers.get(subscriptionId);
      if (consumer === undefined) return;
      schedule(consumer);
      dispatch();
    },
    /** Whether no post is under way, and none becomes due within this time. */
    async isIdle(forMs: number): Promise<boolean> {
      if (!consumers.isLoaded() || queue.underWay + asking.size + commits.size > 0) return false;
      if ((await store.events.bounds()).last > log.tail) return false;
      const [untilMs, untilAt] = [clock.now() + forMs, clock.monotonicMs() + forMs];
      return [...consumers.all()].every((consumer) => isIdleUntil(consumer, untilMs, untilAt));
    },
    /**
     * Starts no more posts, waits for those under way for at most `drainMs`, commits their outcomes and releases its
     * leases.
     */
    async stop({ drainMs }: { drainMs: number }): Promise<void> {
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

export type DeliveryWorker = ReturnType<typeof createDeliveryWorker>;

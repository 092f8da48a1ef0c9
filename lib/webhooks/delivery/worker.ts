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
  goOn,
  isClosed,
  isIdleUntil,
  isQuiet,
  overflow,
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
  /** What is sent of an event. */
  message(event: LoggedEvent): EventMessage;
  /** Unique to this process. */
  holder: string;
  /** Called after every attempt. Must not throw. */
  onAttempt(attempt: NewAttempt): void;
  limits?: Partial<WorkerLimits>;
  /** How long what an attempt came to waits for others to share its commit with; 40 ms when absent. */
  gatherMs?: number;
}

export interface DeliveryWorker {
  start(): void;
  /** The log has grown. */
  wake(): void;
  /** A subscription was made or changed, or has a replay. */
  changed(subscriptionId: string): Promise<void>;
  /** Whether nothing is under way, and nothing becomes due within so long. */
  isIdle(forMs: number): Promise<boolean>;
  /** Begins nothing more, waits for what is under way at most so long, commits it and gives its leases back. */
  stop(options: { drainMs: number }): Promise<void>;
}

/** Without being woken the store is asked this often: others write to it too. */
const LOOK_MS = 1_000;
/** So many outcomes may wait for their commit. */
const MOST_PENDING = 2_000;
/** Cursors that moved over what nobody hears are committed this often. */
const SAVE_MS = 60_000;

/**
 * Delivers the log to its subscriptions, at least once. Each subscription is a consumer of the log with a cursor. The store
 * keeps what failed, and says what is due; this process remembers only what is in flight. A new event is read once and handed
 * to all consumers at the end of the log that it matches. What many posts came to is one commit.
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
  /** Consumers whose next deliveries are being read. */
  const asking = new Set<Promise<void>>();
  const state = { savedAt: clock.monotonicMs(), forgotten: 0, isStopping: false };
  const loop = createLoop({
    step,
    wait: clock.wait,
    onProblem: (cause) => onProblem("what is to be delivered cannot be read; trying on", cause),
  });
  const leaseLoop = createLeaseLoop(partitions, { clock, isBusy, onChange: loop.wake, onProblem });
  const dispatchSoon = oncePerTurn(dispatch);

  /** Whether posts to a partition's subscriptions are under way, or what they came to is not committed. */
  function isBusy(partition: number): boolean {
    return commits.isPending(partition) ||
      [...consumers.all()].some((consumer) => consumer.partition === partition && consumer.posts > 0);
  }

  /** Looks at everything: who listens, what is new, what is due. */
  async function step(): Promise<number> {
    const bounds = await log.look();
    await consumers.load();
    const isSetBack = stepOfClock() <= -CLOCK_STEP_MS;
    const hasForgotten = bounds.forgotten > state.forgotten;
    state.forgotten = bounds.forgotten;
    for (const consumer of consumers.all()) {
      if (hasForgotten) forget(consumer, bounds.forgotten);
      // The store says what is due now. An ordered one may wait at what was forgotten before it was due.
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

  /** Hands a new event to those that follow the log; one that can't take more reads it later by itself. */
  function hand(event: LoggedEvent): void {
    for (const consumer of consumers.matching(event)) {
      // A subscription that was just made may stand beyond the log as it was looked at.
      if (consumer.work.state !== "following" || event.sequence <= consumer.cursor.scannedTo) continue;
      if (consumer.ready.length >= READ_AHEAD) {
        overflow(consumer, event);
        continue;
      }
      enqueue(consumer, [], [event], consumer.cursor);
      schedule(consumer);
    }
  }

  /** Decides what a consumer does next: it asks the store, waits for its turn to post, or rests. */
  function schedule(consumer: Consumer): void {
    if (isClosed(consumer) || state.isStopping) return;
    const nowAt = clock.monotonicMs();
    goOn(consumer, log, nowAt);
    for (const outcome of giveUpOld(consumer, log.networkMs)) commits.add(outcome);
    if (endReplay(consumer)) commits.add({ consumer });
    if (commits.size <= MOST_PENDING && mayHaveMore(consumer, log.tail, clock.now(), nowAt)) ask(consumer);
    if (canPost(consumer, nowAt)) queue.offer(consumer);
  }

  /** Asks the store what a consumer posts next. */
  function ask(consumer: Consumer): void {
    const answered = reading.read(consumer, log.tail).then((isThere) => {
      if (!isThere) consumers.close([consumer]);
    }, (cause) => {
      onProblem("the store fails on what is to be delivered; trying on", cause);
      putOff(consumer, clock.monotonicMs() + PUT_OFF_MS, false);
    }).finally(() => {
      asking.delete(answered);
      schedule(consumer);
      dispatch();
    });
    asking.add(answered);
  }

  /** Begins posts while there is room for more. */
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

  /** Whether posts to a consumer may begin. */
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
      await partitions.release().catch((cause) => onProblem("leases could not be given back", cause));
    },
  };
}

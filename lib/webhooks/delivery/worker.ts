import { createStepWatch } from "../../clock.ts";
import { createLoop } from "../../loop.ts";
import type { LoggedEvent } from "../../store/event.ts";
import type { Store } from "../../store/store.ts";
import { CLOCK_STEP_MS, type NewAttempt } from "../../store/webhook.ts";
import type { Attempter, EventMessage } from "./attempt.ts";
import { createCommits } from "./commit.ts";
import { type Consumer, enqueue, forget, READ_AHEAD, restsUntil } from "./consumer.ts";
import { createConsumers } from "./consumers.ts";
import { positionOf } from "./cursor.ts";
import { createEligibility, type EligibilityParts } from "./eligibility.ts";
import { createLogEnd } from "./log_end.ts";
import { createPartitions } from "./partitions.ts";
import { createPostQueue, WORKER_LIMITS, type WorkerLimits } from "./post_queue.ts";
import { createPosting } from "./posting.ts";
import { createReading } from "./reading.ts";
import { createScheduler } from "./scheduler.ts";
import type { Outcome } from "./settlement.ts";

export interface WorkerParts extends Omit<EligibilityParts, "refresh"> {
  store: Pick<Store, "events" | "deliveries" | "leases" | "subscriptions" | "registers" | "isShared">;
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
  const { active } = consumers;
  const eligibility = createEligibility({ ...parts, refresh: consumers.refresh });
  const reading = createReading(store, clock);
  const queue = createPostQueue(limits);
  const stepOfClock = createStepWatch(clock);
  const state = { networkMs: 0, savedAt: clock.monotonicMs(), isStopping: false };
  const log = createLogEnd({
    store,
    isHeard: () => state.isStopping ? "stop" : consumers.isEmpty() ? "nobody" : "yes",
    hand,
    handed: () => scheduler.dispatch(),
    shortened() {
      reading.forget();
      consumers.close(consumers.all());
    },
  });
  const commits = createCommits({
    store,
    clock,
    gatherMs,
    onProblem,
    before: (outcomes) => outcomes.forEach(({ consumer }) => catchUp(consumer)),
    async beforeRetry() {
      await log.look();
    },
    fenced,
    committed,
  });
  const posting = createPosting({
    ...parts,
    limits,
    queue,
    eligibility,
    commits,
    networkMs: () => state.networkMs,
    forgotten: () => log.forgotten,
    isOwn,
    isStopping: () => state.isStopping,
    leaveEnd(consumer) {
      catchUp(consumer);
      consumer.isAtEnd = false;
    },
    ended(consumer) {
      scheduler.schedule(consumer);
      scheduler.dispatchSoon();
    },
  });
  const scheduler = createScheduler({
    ...{ clock, log, reading, consumers, eligibility, queue, commits, posting, isOwn, onProblem },
    isStopping: () => state.isStopping,
  });
  const loop = createLoop({
    step,
    wait: clock.wait,
    onProblem: (cause) => onProblem("what is to be delivered cannot be read; trying on", cause),
  });
  const leaseLoop = createLoop({
    step: keepLeases,
    wait: clock.wait,
    onProblem: (cause) => onProblem("leases cannot be renewed; trying on", cause),
  });

  /** Whether posts to a consumer may begin. */
  function isOwn(consumer: Consumer): boolean {
    return !consumer.isClosed && consumers.isOwn(consumer) && partitions.holds(consumer.partition);
  }

  /** Renews leases without waiting for what the other loop reads. */
  async function keepLeases(): Promise<number> {
    const before = partitions.leases();
    const restMs = await partitions.keep(isBusy);
    if (partitions.leases().some((lease, partition) => lease !== before[partition])) loop.wake();
    return restMs;
  }

  /** Looks at everything: who listens, what is new, what is due. */
  async function step(): Promise<number> {
    // Before subscriptions are loaded: a network that goes back has some hear more before there is more.
    const bounds = await log.look();
    await consumers.load();
    state.networkMs = ((await store.events.watcherState())?.latestLedgerCloseTime ?? 0) * 1_000;
    if (stepOfClock() <= -CLOCK_STEP_MS) askForDue();
    if (bounds.forgotten > log.forgotten) forgetUpTo(bounds.forgotten);
    await log.follow(bounds);
    queue.sweep(clock.monotonicMs());
    for (const consumer of active) scheduler.schedule(consumer);
    scheduler.dispatch();
    if (clock.monotonicMs() - state.savedAt >= SAVE_MS) saveCursors();
    return restMs();
  }

  /** Whether posts to a partition's subscriptions are under way, or what they came to is not committed. */
  function isBusy(partition: number): boolean {
    return commits.isPending(partition) ||
      [...consumers.all()].some((consumer) => consumer.partition === partition && consumer.posts > 0);
  }

  function restMs(): number {
    let restMs = queue.underWay > 0 ? Math.min(LOOK_MS, limits.slowMs / 2) : LOOK_MS;
    const [nowMs, nowAt] = [clock.now(), clock.monotonicMs()];
    for (const consumer of active) {
      const { nextDueAtMs } = consumer;
      const readyAt = restsUntil(consumer);
      if (readyAt > nowAt) restMs = Math.min(restMs, readyAt - nowAt);
      else if (nextDueAtMs !== null && nextDueAtMs > nowMs) restMs = Math.min(restMs, nextDueAtMs - nowMs);
    }
    return Math.max(restMs, 1);
  }

  /** A clock that was set back makes due what failed before: the store says what. */
  function askForDue(): void {
    for (const consumer of active) if (consumer.nextDueAtMs !== null || consumer.isAsking) consumer.nextDueAtMs = 0;
  }

  function forgetUpTo(forgotten: number): void {
    for (const consumer of active) {
      forget(consumer, forgotten);
      // An ordered one may wait at what was forgotten before it was due.
      if (consumer.nextDueAtMs !== null) consumer.nextDueAtMs = 0;
    }
  }

  /** A consumer that cannot take more for now goes on reading by itself, from here on. */
  function hand(event: LoggedEvent): void {
    for (const consumer of consumers.matching(event)) {
      // A subscription that was just made may stand beyond the log as it was looked at.
      if (!consumer.isAtEnd || consumer.isClosed || event.sequence <= consumer.cursor.scannedTo) continue;
      active.add(consumer);
      if (consumer.ready.length >= READ_AHEAD) {
        consumer.isAtEnd = false;
        consumer.cursor.scannedTo = event.sequence - 1;
        continue;
      }
      enqueue(consumer, [], [event], consumer.cursor);
      if (!consumer.isAsking) scheduler.schedule(consumer);
    }
  }

  /** A consumer at the end of the log is as far as that. */
  function catchUp(consumer: Consumer): void {
    if (consumer.isAtEnd) consumer.cursor.scannedTo = Math.max(consumer.cursor.scannedTo, log.tail);
  }

  async function fenced(of: Consumer[]): Promise<void> {
    await partitions.recheck();
    const lost = of.filter((consumer) => !consumers.isOwn(consumer));
    // The store is not as it was for them, though it leaves them their leases.
    consumers.close(lost.length > 0 ? lost : of);
    consumers.close([...consumers.all()].filter((consumer) => !consumers.isOwn(consumer)));
  }

  function committed(outcomes: Outcome[]): void {
    for (const { consumer, delivery } of outcomes) posting.committed(consumer, delivery);
    for (const { consumer } of outcomes) {
      const { replay } = consumer;
      if (replay?.state === "saved" && !consumer.isClosed) {
        consumer.endedReplayId = replay.id;
        consumer.replay = undefined;
      }
      if (!consumer.isClosed) active.add(consumer);
      scheduler.schedule(consumer);
    }
    scheduler.dispatch();
  }

  function saveCursors(): void {
    state.savedAt = clock.monotonicMs();
    for (const consumer of consumers.all()) {
      catchUp(consumer);
      if (positionOf(consumer.cursor) > consumer.cursor.saved) commits.add({ consumer });
    }
  }

  /** Whether nothing is left to do before then. */
  async function isIdle(forMs: number): Promise<boolean> {
    if (!consumers.isLoaded() || queue.underWay + scheduler.asking.size + commits.size > 0) return false;
    if ((await store.events.bounds()).last > log.tail) return false;
    const [untilMs, untilAt] = [clock.now() + forMs, clock.monotonicMs() + forMs];
    return [...active].every((consumer) =>
      consumer.eligibility.isHeldBack || restsUntil(consumer) >= untilAt ||
      (consumer.isAtEnd && consumer.ready.length === 0 && consumer.replay === undefined &&
        (consumer.nextDueAtMs === null || consumer.nextDueAtMs >= untilMs))
    );
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
      scheduler.schedule(consumer);
      scheduler.dispatch();
    },
    isIdle,
    async stop({ drainMs }) {
      await loop.stop();
      state.isStopping = true;
      await posting.drain(drainMs);
      await Promise.all(scheduler.asking);
      saveCursors();
      await commits.drain();
      await leaseLoop.stop();
      await partitions.release().catch((cause) => onProblem("leases could not be given back", cause));
    },
  };
}

import { setImmediate } from "node:timers";
import type { Clock } from "../../clock.ts";
import type { Commits } from "./commit.ts";
import { canPost, type Consumer, isQuiet, PUT_OFF_MS, take } from "./consumer.ts";
import type { Consumers } from "./consumers.ts";
import { isDone } from "./cursor.ts";
import type { Eligibility } from "./eligibility.ts";
import type { LogEnd } from "./log_end.ts";
import type { PostQueue } from "./post_queue.ts";
import type { Posting } from "./posting.ts";
import { mayHaveMore, type Reading } from "./reading.ts";

export interface SchedulerParts {
  reading: Reading;
  clock: Clock;
  log: Pick<LogEnd, "tail">;
  consumers: Consumers;
  eligibility: Eligibility;
  queue: PostQueue;
  commits: Commits;
  posting: Posting;
  /** Whether posts to a consumer may begin: its lease is held. */
  isOwn(consumer: Consumer): boolean;
  isStopping(): boolean;
  onProblem(message: string, cause?: unknown): void;
}

/** Decides what each consumer does next: it asks the store, waits for its turn to post, or rests. */
export interface Scheduler {
  schedule(consumer: Consumer): void;
  /** Begins posts while there is room for more. */
  dispatch(): void;
  /** The same, together with what else comes to an end in this turn of the event loop. */
  dispatchSoon(): void;
  /** Questions to the store that are not answered yet. */
  readonly asking: ReadonlySet<Promise<void>>;
}

/** So many outcomes may wait for their commit. */
const MOST_PENDING = 2_000;

export function createScheduler(parts: SchedulerParts): Scheduler {
  const { reading, clock, log, consumers, eligibility, queue, commits, posting, onProblem } = parts;
  const asking = new Set<Promise<void>>();
  let isDispatching = false;

  /** Asks the store for what a consumer posts next, or has it wait for its turn to post. */
  function schedule(consumer: Consumer): void {
    if (consumer.isClosed || parts.isStopping()) return;
    const { cursor, replay, subscription: { ordered }, inFlight, nextDueAtMs } = consumer;
    const isWaiting = ordered && (inFlight.size > 0 || nextDueAtMs !== null || consumer.isAsking);
    if (!consumer.isAtEnd && cursor.scannedTo >= log.tail && !isWaiting) consumer.isAtEnd = true;
    posting.giveUpOld(consumer);
    if (replay?.state === "open" && isDone(replay)) {
      replay.state = "done";
      commits.add({ consumer });
    }
    const nowAt = clock.monotonicMs();
    const mayPost = canPost(consumer, nowAt);
    const isFresh = eligibility.isFresh(consumer, nowAt);
    const isOpen = !consumer.isAsking && commits.size <= MOST_PENDING && nowAt >= consumer.notBeforeAt;
    const hasMore = mayHaveMore(consumer, log.tail, clock.now(), nowAt);
    if (isOpen && (hasMore || (mayPost && !isFresh))) ask(consumer, hasMore);
    if (mayPost && isFresh) queue.offer(consumer);
    else if (isQuiet(consumer)) consumers.active.delete(consumer);
  }

  function ask(consumer: Consumer, hasMore: boolean): void {
    consumer.isAsking = true;
    const work = read(consumer, hasMore).catch((cause) => {
      onProblem("the store fails on what is to be delivered; trying on", cause);
      consumer.notBeforeAt = clock.monotonicMs() + PUT_OFF_MS;
    }).finally(() => {
      asking.delete(work);
      consumer.isAsking = false;
      schedule(consumer);
      dispatch();
    });
    asking.add(work);
  }

  async function read(consumer: Consumer, hasMore: boolean): Promise<void> {
    if (hasMore && !await reading.read(consumer, log.tail)) return consumers.close([consumer]);
    if (!eligibility.isFresh(consumer, clock.monotonicMs())) await eligibility.check(consumer);
  }

  function dispatch(): void {
    while (!parts.isStopping() && commits.size <= MOST_PENDING) {
      const consumer = queue.next();
      if (consumer === undefined) return;
      if (!canPost(consumer, clock.monotonicMs())) continue;
      if (!parts.isOwn(consumer)) continue;
      posting.begin(consumer, take(consumer, clock.now()));
      schedule(consumer);
    }
  }

  /**
   * What comes to an end in one turn of the event loop makes room for posts that are begun together: a receiver that each
   * of them would wake by itself costs the sender more than the post.
   */
  function dispatchSoon(): void {
    if (isDispatching) return;
    isDispatching = true;
    setImmediate(() => {
      isDispatching = false;
      dispatch();
    });
  }

  return { schedule, dispatch, dispatchSoon, asking };
}

import type { Clock } from "../../clock.ts";
import type { LoggedEvent } from "../../store/event.ts";
import { type FailedDelivery, isDue, type NewAttempt } from "../../store/webhook.ts";
import type { Attempter, EventMessage } from "./attempt.ts";
import type { Commits } from "./commit.ts";
import { type Consumer, type Delivery, forget, type Post, PUT_OFF_MS, requeue, rewind } from "./consumer.ts";
import type { Eligibility } from "./eligibility.ts";
import { type EndpointOutcome, failuresOf, isKnownToFail, next } from "./endpoint.ts";
import type { PostQueue, WorkerLimits } from "./post_queue.ts";
import { breakAfter, MAX_AGE_MS } from "./schedule.ts";
import { failedDelivery, type Outcome } from "./settlement.ts";

export interface PostingParts {
  attempt: Attempter;
  message(event: LoggedEvent): EventMessage;
  clock: Clock;
  limits: WorkerLimits;
  queue: PostQueue;
  eligibility: Eligibility;
  commits: Commits;
  /** The network's clock, Unix ms. */
  networkMs(): number;
  /** Events up to this sequence were forgotten. */
  forgotten(): number;
  /** Whether posts to a consumer may begin: its lease is held. */
  isOwn(consumer: Consumer): boolean;
  isStopping(): boolean;
  /** A consumer waits at what failed: it is handed no new events until that is committed. */
  leaveEnd(consumer: Consumer): void;
  /** A post to a consumer has ended, and what it came to is added to the commits. */
  ended(consumer: Consumer): void;
  onAttempt(attempt: NewAttempt): void;
  onProblem(message: string, cause?: unknown): void;
}

/** Makes posts, and learns from each how its endpoint does and what becomes of the delivery. */
export interface Posting {
  begin(consumer: Consumer, post: Post): void;
  /** While an endpoint is down, what has waited for days is given up without an attempt of its own. */
  giveUpOld(consumer: Consumer): void;
  /** What became of a delivery is committed: from here on the store answers it again where it retries. */
  committed(consumer: Consumer, delivery: Outcome["delivery"]): void;
  /** Waits for posts under way, at most so long, and then cuts them off. */
  drain(drainMs: number): Promise<void>;
}

export function createPosting(parts: PostingParts): Posting {
  const { clock, queue, eligibility, commits, limits } = parts;
  const aborting = new AbortController();
  let whenIdle: (() => void) | undefined;

  async function make(consumer: Consumer, post: Post, nowAt: number): Promise<void> {
    const slot = queue.begin(consumer, nowAt);
    try {
      // It has waited for so long that its key may be disabled by now; and while that is looked up it may become another's.
      if (!eligibility.isFresh(consumer, nowAt)) {
        await eligibility.check(consumer);
        const isFresh = eligibility.isFresh(consumer, clock.monotonicMs());
        if (parts.isStopping() || !parts.isOwn(consumer) || !isFresh) return requeue(consumer, post);
      }
      const { secret } = consumer.subscription;
      const made = await parts.attempt({
        recipient: consumer.eligibility.recipient!,
        message: parts.message(post.event),
        attempts: post.failed?.attempts ?? 0,
        ageMs: ageOf(post, parts.networkMs()),
        kind: post.isProbe ? "probe" : "delivery",
        replayId: post.replayId,
        atMs: clock.now(),
      }, aborting.signal);
      // Of what a stop cut off nothing is known: it is delivered again.
      if (aborting.signal.aborted && made.outcome !== "delivered") return;
      // The secret was rotated while the post was under way: a 4xx may only mean "old signature".
      const isOutdated = made.outcome === "rejected" && consumer.subscription.secret !== secret;
      const heeded = isOutdated ? { ...made, outcome: "retry" as const, nextAttemptAtMs: clock.now() } : made;
      if (!consumer.isClosed) attempted(consumer, post, heeded);
    } catch (cause) {
      // Endpoints and networks do not get here: something is wrong on this side.
      requeue(consumer, post);
      consumer.notBeforeAt = clock.monotonicMs() + PUT_OFF_MS;
      parts.onProblem("a delivery could not be attempted", cause);
    } finally {
      queue.end(slot);
      if (queue.underWay === 0) whenIdle?.();
      parts.ended(consumer);
    }
  }

  function attempted(consumer: Consumer, post: Post, made: NewAttempt): void {
    const nowMs = clock.now();
    const isFailed = made.outcome === "retry" || made.outcome === "dead";
    const outcome: EndpointOutcome = isFailed ? "failed" : made.durationMs > limits.slowMs ? "slow" : "quick";
    consumer.endpoint = next(consumer.endpoint, outcome, clock.monotonicMs(), limits.postsPerEndpoint);
    consumer.failingSinceMs = isFailed ? consumer.failingSinceMs ?? nowMs : null;
    parts.onAttempt(made);
    const { event: { sequence }, cursor } = post;
    if (post.isProbe && made.outcome === "retry") {
      requeue(consumer, post);
      forget(consumer, parts.forgotten());
      rewind(consumer);
      const nextAttemptAtMs = nowMs + breakAfter(failuresOf(consumer.endpoint));
      return commits.add({ consumer, attempt: { ...made, nextAttemptAtMs } });
    }
    const failed = made.outcome === "delivered"
      ? undefined
      : failedDelivery(post, made, { nowMs, networkMs: parts.networkMs() });
    if (failed !== undefined) consumer.isAnyKept = true;
    // An ordered one goes on when the failure is committed: after a kill, what failed is sent again before what comes next.
    const isWaitedAt = failed !== undefined && consumer.subscription.ordered;
    if (isFailed || isWaitedAt) rewind(consumer);
    if (isWaitedAt) parts.leaveEnd(consumer);
    commits.add({ consumer, attempt: made, delivery: { sequence, cursor, failed } });
  }

  return {
    begin: (consumer, post) => void make(consumer, post, clock.monotonicMs()),
    giveUpOld(consumer) {
      if (!isKnownToFail(consumer.endpoint) || consumer.posts > 0) return;
      const networkMs = parts.networkMs();
      const isOld = ({ event, failed, replayId }: Delivery) =>
        replayId === null && networkMs - (failed?.failedAtMs ?? event.knownAt * 1_000) >= MAX_AGE_MS;
      const old = consumer.ready.filter(isOld);
      if (old.length === 0) return;
      consumer.ready = consumer.ready.filter((one) => !isOld(one));
      consumer.isAnyKept = true;
      for (const { event: { sequence }, failed: before, cursor } of old) {
        if (cursor !== undefined) cursor.takenTo = Math.max(cursor.takenTo, sequence);
        const { attempts, failedAtMs } = before ?? { attempts: 0, failedAtMs: networkMs };
        const failed: FailedDelivery = {
          sequence,
          state: "dead",
          attempts,
          dueAtMs: null,
          failedAtMs,
          attemptedAtMs: 0,
        };
        commits.add({ consumer, delivery: { sequence, cursor, failed } });
      }
    },
    committed(consumer, delivery) {
      if (delivery === undefined) return;
      consumer.inFlight.delete(delivery.sequence);
      const { failed } = delivery;
      if (failed?.state !== "retrying") return;
      const dueAtMs = isDue(failed, clock.now()) ? 0 : failed.dueAtMs!;
      consumer.nextDueAtMs = Math.min(consumer.nextDueAtMs ?? Infinity, dueAtMs);
    },
    async drain(drainMs) {
      const idle = new Promise<void>((resolve) => {
        whenIdle = resolve;
        if (queue.underWay === 0) resolve();
      });
      const cut = new AbortController();
      if (drainMs > 0) await Promise.race([idle, clock.wait(drainMs, cut.signal)]);
      cut.abort();
      aborting.abort();
      await idle;
    },
  };
}

/** How long a delivery has been owed, by the network's clock: no step of this machine's makes it old. */
function ageOf({ event, failed, replayId }: Post, networkMs: number): number {
  if (replayId !== null) return 0;
  return networkMs - (failed?.failedAtMs ?? event.knownAt * 1_000);
}

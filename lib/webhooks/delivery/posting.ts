import type { Clock } from "../../clock.ts";
import type { LoggedEvent } from "../../store/event.ts";
import type { NewAttempt } from "../../store/webhook.ts";
import type { Attempter, EventMessage } from "./attempt.ts";
import { type Consumer, fallBehind, isClosed, keep, type Post, PUT_OFF_MS, putOff } from "./consumer.ts";
import type { Eligibility } from "./eligibility.ts";
import { type EndpointOutcome, failuresOf, next } from "./endpoint.ts";
import type { LogEnd } from "./log_end.ts";
import type { PostQueue, WorkerLimits } from "./post_queue.ts";
import { forget, requeue, rewind } from "./ready.ts";
import { breakAfter } from "./schedule.ts";
import { ageOf, failedDelivery, type Outcome } from "./settlement.ts";

export interface PostingParts {
  attempt: Attempter;
  message(event: LoggedEvent): EventMessage;
  clock: Clock;
  limits: WorkerLimits;
  queue: PostQueue;
  eligibility: Eligibility;
  log: Pick<LogEnd, "networkMs" | "forgotten">;
  /** Whether posts to a consumer may start: its lease is held, and the worker is not stopping. */
  mayBegin(consumer: Consumer): boolean;
  onAttempt(attempt: NewAttempt): void;
  onProblem(message: string, cause?: unknown): void;
}

/** Makes posts, and updates endpoint and delivery with each result. */
export interface Posting {
  /** Posts, and returns the outcome to commit; undefined when no attempt was made. Never rejects. */
  post(consumer: Consumer, post: Post): Promise<Outcome | undefined>;
  /** Waits for posts under way, for at most `drainMs`, and then aborts them. */
  drain(drainMs: number): Promise<void>;
}

export function createPosting(parts: PostingParts): Posting {
  const { clock, queue, eligibility, limits, log } = parts;
  const cutting = new AbortController();
  const underWay = new Set<Promise<Outcome | undefined>>();

  async function make(consumer: Consumer, post: Post): Promise<Outcome | undefined> {
    const slot = queue.begin(consumer, clock.monotonicMs());
    try {
      // Another process may take the consumer over during the check, and a change of the subscription ends its result.
      if (!await eligibility.check(consumer) || !parts.mayBegin(consumer)) return void requeue(consumer, post);
      const { eligible, subscription: { secret } } = consumer;
      if (eligible === undefined) return void requeue(consumer, post);
      const made = await parts.attempt({
        recipient: eligible.recipient,
        message: parts.message(post.event),
        attempts: post.failed?.attempts ?? 0,
        ageMs: ageOf(post, log.networkMs),
        kind: post.isProbe ? "probe" : "delivery",
        replayId: post.replayId,
        atMs: clock.now(),
      }, cutting.signal);
      // An aborted post has an unknown outcome, and is delivered again.
      if (cutting.signal.aborted && made.outcome !== "delivered") return undefined;
      // The secret was rotated while the post was under way: a 4xx may only mean "old signature".
      const isOutdated = made.outcome === "rejected" && consumer.subscription.secret !== secret;
      const heeded = isOutdated ? { ...made, outcome: "retry" as const, nextAttemptAtMs: clock.now() } : made;
      return isClosed(consumer) ? undefined : attempted(consumer, post, heeded);
    } catch (cause) {
      // Endpoints and networks do not throw: this is a problem on our side.
      requeue(consumer, post);
      putOff(consumer, clock.monotonicMs() + PUT_OFF_MS, false);
      parts.onProblem("a webhook delivery cannot be attempted", cause);
    } finally {
      queue.end(slot);
    }
  }

  function attempted(consumer: Consumer, post: Post, made: NewAttempt): Outcome {
    const nowMs = clock.now();
    const isFailed = made.outcome === "retry" || made.outcome === "dead";
    const outcome: EndpointOutcome = isFailed ? "failed" : made.durationMs > limits.slowMs ? "slow" : "quick";
    consumer.endpoint = next(consumer.endpoint, outcome, clock.monotonicMs(), limits.postsPerEndpoint);
    consumer.failingSinceMs = isFailed ? consumer.failingSinceMs ?? nowMs : null;
    parts.onAttempt(made);
    const { event: { sequence }, cursor } = post;
    if (post.isProbe && made.outcome === "retry") {
      requeue(consumer, post);
      forget(consumer, log.forgotten);
      rewind(consumer);
      return { consumer, attempt: { ...made, nextAttemptAtMs: nowMs + breakAfter(failuresOf(consumer.endpoint)) } };
    }
    const failed = made.outcome === "delivered"
      ? undefined
      : failedDelivery(post, made, { nowMs, networkMs: log.networkMs });
    if (failed !== undefined) keep(consumer, Infinity);
    // An ordered consumer goes on after the commit. So a crash cannot send the next event before the failed one.
    const isWaitedAt = failed !== undefined && consumer.subscription.ordered;
    if (isFailed || isWaitedAt) rewind(consumer);
    if (isWaitedAt) fallBehind(consumer);
    return { consumer, attempt: made, delivery: { sequence, cursor, failed } };
  }

  return {
    post(consumer, post) {
      const made = make(consumer, post).finally(() => underWay.delete(made));
      underWay.add(made);
      return made;
    },
    async drain(drainMs) {
      const ended = Promise.all(underWay);
      const waiting = new AbortController();
      if (drainMs > 0) await Promise.race([ended, clock.wait(drainMs, waiting.signal)]);
      waiting.abort();
      cutting.abort();
      await ended;
    },
  };
}

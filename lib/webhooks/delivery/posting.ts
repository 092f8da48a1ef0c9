import type { LoggedEvent } from "../../store/event.ts";
import type { Store } from "../../store/store.ts";
import type { FailedDelivery, NewAttempt } from "../../store/webhook.ts";
import type { Attempter, AttemptRequest, EventMessage } from "./attempt.ts";
import type { Outcome } from "./commit.ts";
import { type Consumer, type Delivery, fallBehind, isClosed, keep, type Post, requeue, take } from "./consumer.ts";
import { checkEligible, type EligibilityParts, isEligible } from "./eligibility.ts";
import { failuresOf, isKnownToFail, next } from "./endpoint.ts";
import type { PostQueue, WorkerLimits } from "./post_queue.ts";
import { breakAfter, MAX_AGE_MS } from "./schedule.ts";

export interface PostingParts extends EligibilityParts {
  store: Pick<Store, "subscriptions">;
  attempt: Attempter;
  /** The message of an event for an API key. */
  message(event: LoggedEvent, keyId: string): EventMessage;
  limits: WorkerLimits;
  queue: Pick<PostQueue, "idle">;
  /** Network time: the close time of the latest ledger, Unix ms. So steps of our own clock age nothing. */
  networkMs(): number;
  /** Whether a begun post may still be made after a check. */
  mayPost(consumer: Consumer): boolean;
  /** Called after every attempt. Must not throw. */
  onAttempt(attempt: NewAttempt): void;
}

/** By then the worker has loaded a rotated secret. */
const NOTICED_MS = 2_000;

/** Makes posts, and updates endpoint and delivery with each result. */
export function createPosting(parts: PostingParts) {
  const { clock, queue, limits, networkMs } = parts;
  const cutting = new AbortController();
  const checking = new Map<Consumer, Promise<void>>();

  function requestOf({ eligible, subscription: { keyId } }: Consumer, post: Post): AttemptRequest {
    const { event, failed, replayId, isProbe } = post;
    return {
      recipient: eligible!.recipient,
      message: parts.message(event, keyId),
      attempts: failed?.attempts ?? 0,
      ageMs: ageOf(post),
      kind: isProbe ? "probe" : "delivery",
      replayId,
      atMs: clock.now(),
    };
  }

  /** Posts of a consumer share a check. */
  function check(consumer: Consumer): Promise<void> {
    const checked = checking.get(consumer) ?? checkEligible(parts, consumer).finally(() => checking.delete(consumer));
    checking.set(consumer, checked);
    return checked;
  }

  /** The secret was rotated, here or by another process: a 4xx may only mean "old signature". */
  function hasChangedSecret({ subscription: { id } }: Consumer, secret: string): Promise<boolean> {
    return parts.store.subscriptions.get(id).then((stored) => stored?.secret !== secret, () => true);
  }

  function attempted(consumer: Consumer, post: Post, made: NewAttempt): Outcome {
    const nowMs = clock.now();
    const isFailed = made.outcome === "retry" || made.outcome === "dead";
    const outcome = isFailed ? "failed" : made.durationMs > limits.slowMs ? "slow" : "quick";
    consumer.endpoint = next(consumer.endpoint, outcome, clock.monotonicMs(), limits.postsPerEndpoint);
    consumer.failingSinceMs = isFailed ? consumer.failingSinceMs ?? nowMs : null;
    parts.onAttempt(made);
    if (post.isProbe && made.outcome === "retry") {
      requeue(consumer, post);
      return { consumer, attempt: { ...made, nextAttemptAtMs: nowMs + breakAfter(failuresOf(consumer.endpoint)) } };
    }
    const { event: { sequence }, cursor } = post;
    const failed = made.outcome === "delivered" ? undefined : failedDelivery(post, made, nowMs);
    if (failed !== undefined) keep(consumer, Infinity);
    // An ordered consumer goes on after the commit. So a crash cannot send the next event before the failed one.
    const isWaitedAt = failed !== undefined && consumer.subscription.ordered;
    if (isFailed || isWaitedAt) requeue(consumer);
    if (isWaitedAt) fallBehind(consumer);
    return { consumer, attempt: made, delivery: { sequence, cursor, failed } };
  }

  /** How long a delivery has been pending, by network time. So steps of our own clock do not age it. */
  function ageOf({ event, failed, replayId }: Delivery): number {
    return replayId !== null ? 0 : networkMs() - (failed?.failedAtMs ?? event.knownAt * 1_000);
  }

  /** Gives up deliveries that are days old while the endpoint is down. */
  function giveUp(consumer: Consumer): Outcome[] {
    if (!isKnownToFail(consumer.endpoint) || consumer.posts > 0) return [];
    const isOld = (one: Delivery) => ageOf(one) >= MAX_AGE_MS;
    const old = consumer.ready.filter(isOld);
    if (old.length === 0) return [];
    consumer.ready = consumer.ready.filter((one) => !isOld(one));
    keep(consumer, Infinity);
    return old.map(({ event: { sequence }, failed: before, cursor }) => {
      const { attempts, failedAtMs } = before ?? { attempts: 0, failedAtMs: networkMs() };
      const failed = { sequence, state: "dead" as const, attempts, dueAtMs: null, failedAtMs, attemptedAtMs: 0 };
      return { consumer, delivery: { sequence, cursor, failed } };
    });
  }

  function failedDelivery({ event, failed: before }: Post, made: NewAttempt, nowMs: number): FailedDelivery {
    return {
      sequence: event.sequence,
      state: made.outcome === "retry" ? "retrying" : made.outcome === "rejected" ? "rejected" : "dead",
      attempts: (before?.attempts ?? 0) + 1,
      dueAtMs: made.nextAttemptAtMs,
      // An event of the first ledgers may be known before any close time.
      failedAtMs: before?.failedAtMs ?? Math.max(networkMs(), event.knownAt * 1_000),
      attemptedAtMs: nowMs,
    };
  }

  return {
    /**
     * Posts the next delivery. Returns undefined when the post was not made, or its result is unknown. Rejects when the
     * store fails.
     */
    async post(consumer: Consumer): Promise<Outcome | undefined> {
      if (!isEligible(consumer, clock.monotonicMs())) {
        await check(consumer);
        // Another process may have taken the consumer over during the check.
        if (!isEligible(consumer, clock.monotonicMs()) || !parts.mayPost(consumer)) return undefined;
      }
      const { subscription: { secret } } = consumer;
      const post = take(consumer, clock.now());
      const made = await parts.attempt(requestOf(consumer, post), cutting.signal);
      // An aborted post has an unknown outcome, and is delivered again.
      if (cutting.signal.aborted && made.outcome !== "delivered") return undefined;
      const isOutdated = made.outcome === "rejected" && await hasChangedSecret(consumer, secret);
      const again = { outcome: "retry", nextAttemptAtMs: clock.now() + NOTICED_MS } as const;
      return isClosed(consumer) ? undefined : attempted(consumer, post, isOutdated ? { ...made, ...again } : made);
    },
    giveUp,
    /** Waits for posts under way, for at most `drainMs`, and then aborts them. */
    async drain(drainMs: number): Promise<void> {
      const idle = queue.idle();
      const waiting = new AbortController();
      if (drainMs > 0) await Promise.race([idle, clock.wait(drainMs, waiting.signal)]);
      waiting.abort();
      cutting.abort();
      await idle;
    },
  };
}

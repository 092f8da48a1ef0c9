import type { Clock } from "../clock.ts";
import { type LoggedEvent, publicEvent } from "../store/event.ts";
import type { Store } from "../store/store.ts";
import type { NewAttempt } from "../store/webhook.ts";
import { createBacklog } from "./backlog.ts";
import { createAttempter, type EventMessage, recipientOf } from "./delivery/attempt.ts";
import { createDeliveryWorker, type DeliveryWorker } from "./delivery/worker.ts";
import { createSecret, type RandomBytes } from "./delivery/signature.ts";
import type { WorkerLimits } from "./delivery/post_queue.ts";
import type { Poster } from "./post/post.ts";
import type { SecretCipher } from "./secrets/secrets.ts";
import { createSubscriptions } from "./subscriptions.ts";
import type { TargetPolicy } from "./targets/policy.ts";

export interface WebhooksParts {
  store: Store;
  targets: TargetPolicy;
  poster: Poster;
  secrets: SecretCipher;
  /** Whether the key exists, is enabled, has not expired and has the scope `webhooks`. */
  isKeyEnabled(keyId: string): Promise<boolean>;
  /** See `CreationParts`. */
  isKeyThere(keyId: string): Promise<boolean>;
  /** See `CreationParts`. */
  startHeight(): Promise<number>;
  randomBytes: RandomBytes;
  /** Random letters and digits. */
  randomText(length: number): string;
  clock: Clock;
  onAttempt(attempt: NewAttempt): void;
  onProblem(message: string, cause?: unknown): void;
  workerLimits?: Partial<WorkerLimits>;
}

/** Longer than a healthy endpoint takes. Aborted posts are delivered again. */
const DRAIN_MS = 5_000;
/** How often a turn checks whether anything is left to do. */
const LOOK_MS = 100;
const HOLDER_LENGTH = 12;

/** Creates the subscriptions and the worker that delivers the log to them. */
export function createWebhooks(parts: WebhooksParts) {
  const { store, targets, poster, secrets, isKeyEnabled, clock, onAttempt, onProblem, randomText } = parts;
  const attempt = createAttempter({
    post: poster.post,
    clock,
    random: Math.random,
    onProblem,
  });
  const messageOf = createMessages();
  const newWorker = () =>
    createDeliveryWorker({
      store,
      attempt,
      isKeyEnabled,
      recipient: (subscription) => recipientOf(subscription, secrets.open, clock.now()),
      message: messageOf,
      clock,
      holder: randomText(HOLDER_LENGTH),
      onAttempt,
      onProblem,
      limits: parts.workerLimits,
    });
  let worker: DeliveryWorker | undefined;
  let turning: Promise<void> | undefined;

  /** A stopped worker cannot start again: each turn has its own. */
  async function takeTurn(boundMs: number): Promise<void> {
    const endsAt = clock.monotonicMs() + boundMs;
    const restMs = () => Math.max(0, endsAt - clock.monotonicMs());
    worker = newWorker();
    worker.start();
    try {
      while (restMs() > 0 && !await worker.isIdle(restMs())) await clock.wait(LOOK_MS);
    } catch (cause) {
      onProblem("events cannot be delivered to webhooks; the next turn retries", cause);
    }
    await worker.stop({ drainMs: Math.min(DRAIN_MS, restMs()) });
    worker = undefined;
  }

  return {
    subscriptions: createSubscriptions({
      store,
      targets,
      secrets,
      attempt,
      createSecret: () => createSecret(parts.randomBytes),
      randomText,
      isKeyThere: parts.isKeyThere,
      startHeight: parts.startHeight,
      clock,
      onChange: async (subscriptionId) => await worker?.changed(subscriptionId),
    }),
    /** The recent backlog of all webhooks. */
    backlog: createBacklog(store, isKeyEnabled, clock.monotonicMs),
    start(): void {
      worker = newWorker();
      worker.start();
    },
    /** Call it when the log has grown. */
    wake: () => worker?.wake(),
    /**
     * Delivers until nothing is due, for at most `boundMs`, for platforms without loops. Joins a turn under way. Never
     * rejects.
     */
    turn(boundMs: number): Promise<void> {
      turning ??= takeTurn(boundMs).finally(() => turning = undefined);
      return turning;
    },
    /** Waits for posts under way, commits their outcomes and releases all leases. */
    async stop(): Promise<void> {
      await turning;
      await worker?.stop({ drainMs: DRAIN_MS });
      poster.close();
    },
  };
}

export type Webhooks = ReturnType<typeof createWebhooks>;

/** Creates messages of events. An event for many receivers is written as JSON once, apart from one with a key's reference. */
function createMessages(): (event: LoggedEvent, keyId: string) => EventMessage {
  const messages = new WeakMap<LoggedEvent, EventMessage>();
  const newMessage = (event: LoggedEvent, keyId?: string): EventMessage => {
    return { id: event.id, type: event.type, json: JSON.stringify(publicEvent(event, keyId)) };
  };
  return function messageOf(event, keyId) {
    if (event.references?.has(keyId)) return newMessage(event, keyId);
    let message = messages.get(event);
    if (message === undefined) {
      message = newMessage(event);
      messages.set(event, message);
    }
    return message;
  };
}

import type { Wait } from "../clock.ts";
import type { Store, StoredEvent } from "../store/store.ts";
import { createAttempter, type EventMessage, recipientOf } from "./delivery/attempt.ts";
import { runBoundedTurn, type TurnBound } from "./delivery/bounded_turn.ts";
import { createCourier } from "./delivery/courier.ts";
import { createFanOut } from "./delivery/fan_out.ts";
import type { CourierLimits } from "./delivery/lane.ts";
import { createLoop } from "../loop.ts";
import type { Poster } from "./post/post.ts";
import { createReplayer } from "./replays/replayer.ts";
import { createRetention } from "./retention.ts";
import { nextAttempt } from "./delivery/schedule.ts";
import type { SecretBox } from "./secrets/secrets.ts";
import { createSecret, type RandomBytes } from "./delivery/signature.ts";
import { createSubscriptionSet } from "./delivery/subscription_set.ts";
import { createSubscriptions, type Subscriptions, type Tip } from "./subscriptions.ts";
import type { TargetPolicy } from "./targets/policy.ts";

export interface WebhooksParts {
  store: Store;
  targets: TargetPolicy;
  poster: Poster;
  secrets: SecretBox;
  /** Whether the key is there, enabled and not expired. */
  isKeyEnabled(keyId: string): Promise<boolean>;
  tip(): Promise<Tip>;
  /** The last possible position of a ledger. */
  endOfLedger(epoch: number, ledger: number): string;
  /** What is sent of a decoded event. */
  publicEvent(event: StoredEvent): { id: string; type: string };
  randomBytes: RandomBytes;
  /** Random letters and digits. */
  randomText(length: number): string;
  /** How long events are kept, in days; 0: for ever. */
  historyDays: number;
  /** How long attempts are kept, in days; 0: for ever. */
  attemptDays: number;
  /** Unix milliseconds. */
  now(): number;
  wait: Wait;
  onProblem(message: string, cause: unknown): void;
  courierLimits?: Partial<CourierLimits>;
}

export interface Webhooks {
  subscriptions: Subscriptions;
  start(): void;
  /** There may be events that were not there before. */
  wake(): void;
  /** What the loops do, once and bounded, for places without loops. Joins a turn that is under way. Never rejects. */
  turn(bound: TurnBound): Promise<void>;
  /** Forgets what is old enough and what deleted subscriptions left behind, until it is done or aborted. Never rejects. */
  tidy(signal: AbortSignal): Promise<void>;
  /** Lets posts under way end, writes down what they came to and gives all leases back. */
  stop(): Promise<void>;
}

/** Without being woken fan-out looks this often: what another process commits is seen by it too. */
const FAN_OUT_IDLE_MS = 5_000;
/** A replay that an operator's command begins is seen after so long. */
const REPLAY_IDLE_MS = 2_000;
/** How long a replay waits for deliveries to be made before it looks again. */
const REPLAY_WAIT_MS = 500;
const PRUNE_INTERVAL_MS = 3_600_000;
/** Longer than a healthy endpoint takes; what it cuts off is delivered again. */
const DRAIN_MS = 5_000;

/** Puts webhooks together: events in the store become deliveries, and deliveries become POSTs. */
export function createWebhooks(parts: WebhooksParts): Webhooks {
  const { store, targets, poster, secrets, isKeyEnabled, tip, endOfLedger, publicEvent, now, wait, onProblem } = parts;
  const attempt = createAttempter({
    post: poster.post,
    next: (number, outcome, nowMs) => nextAttempt({ attempt: number, outcome, nowMs, random: Math.random }),
    now,
    randomText: parts.randomText,
  });
  const newCourier = () =>
    createCourier({
      store,
      attempt,
      isKeyEnabled,
      recipient: (subscription) => recipientOf(subscription, secrets.open, now()),
      message: (event) => messageOf(publicEvent(event)),
      now,
      wait,
      onProblem,
      limits: parts.courierLimits,
    });
  let courier = newCourier();
  const onDeliveries = (subscriptionIds: Iterable<string>) => courier.wake(subscriptionIds);
  const fanOut = createFanOut({
    store,
    subscriptions: createSubscriptionSet(store),
    endOfLedger,
    now,
    onDeliveries,
  });
  const replayRound = createReplayer({ store, endOfLedger, now, onDeliveries });
  const retention = createRetention({ store, now, historyDays: parts.historyDays, attemptDays: parts.attemptDays });
  let prunedAtMs = -Infinity;
  let turning: Promise<void> | undefined;

  const fanning = createLoop({
    step: async (signal) => await fanOut.step(signal) ? 0 : FAN_OUT_IDLE_MS,
    wait,
    onProblem: (cause) => onProblem("events cannot be handed to webhooks; trying on", cause),
  });
  const replaying = createLoop({
    step: async () => ({ moved: 0, waiting: REPLAY_WAIT_MS, idle: REPLAY_IDLE_MS })[await replayRound()],
    wait,
    onProblem: (cause) => onProblem("replays cannot go on; trying on", cause),
  });
  const pruning = createLoop({
    async step(signal) {
      await retention.purge(signal);
      if (now() - prunedAtMs >= PRUNE_INTERVAL_MS) {
        prunedAtMs = now();
        await retention.prune(signal);
      }
      return PRUNE_INTERVAL_MS;
    },
    wait,
    onProblem: (cause) => onProblem("old events and attempts cannot be pruned; trying on", cause),
  });
  const loops = [fanning, replaying, pruning];

  async function takeTurn(bound: TurnBound): Promise<void> {
    // A courier that was stopped does not start again.
    courier = newCourier();
    try {
      await runBoundedTurn({ store, fanOut, replayRound, courier, now, wait }, bound);
    } catch (cause) {
      onProblem("events cannot be handed to webhooks; the next turn tries again", cause);
    }
  }

  return {
    subscriptions: createSubscriptions({
      store,
      targets,
      secrets,
      attempt,
      createSecret: () => createSecret(parts.randomBytes),
      randomText: parts.randomText,
      tip,
      endOfLedger,
      now,
      wait,
      onReplay: replaying.wake,
      onDeleted: pruning.wake,
    }),
    start() {
      courier.start();
      for (const loop of loops) loop.start();
    },
    wake: fanning.wake,
    turn(bound) {
      turning ??= takeTurn(bound).finally(() => turning = undefined);
      return turning;
    },
    async tidy(signal) {
      try {
        await retention.purge(signal);
        await retention.prune(signal);
      } catch (cause) {
        onProblem("old events and attempts cannot be pruned", cause);
      }
    },
    async stop() {
      await turning;
      await Promise.all(loops.map((loop) => loop.stop()));
      await courier.stop({ drainMs: DRAIN_MS });
      poster.close();
    },
  };
}

function messageOf(event: { id: string; type: string }): EventMessage {
  return { id: event.id, type: event.type, json: JSON.stringify(event) };
}

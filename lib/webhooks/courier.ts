import type { Wait } from "../stellar/clock.ts";
import type { Store, StoredEvent } from "../store/store.ts";
import type { Subscription, SubscriptionLease } from "../store/webhook_store.ts";
import type { Attempter, EventMessage, Recipient } from "./attempt.ts";
import { breakAfter, close, COURIER_LIMITS, type CourierLimits, enqueue, isTroubled, type Lane, learn, newLane } from "./lane.ts";
import { createLoop } from "./loop.ts";
import { createHealthBook, createPostBook } from "./books.ts";
import { createSettler } from "./settler.ts";

export interface CourierParts {
  store: Pick<
    Store,
    | "leaseSubscriptions"
    | "renewLeases"
    | "releaseLease"
    | "dueDeliveries"
    | "settle"
    | "nextDueAtMs"
    | "getSubscription"
  >;
  attempt: Attempter;
  /** Whether the key is there, enabled and not expired: the deliveries of others are held. */
  isKeyEnabled(keyId: string): Promise<boolean>;
  /** The subscription with its secrets opened. */
  recipient(subscription: Subscription): Recipient;
  /** What is sent of an event. */
  message(event: StoredEvent): EventMessage;
  /** Unix milliseconds. */
  now(): number;
  wait: Wait;
  /** Told when something fails after it did not: no secret, no URL in it. */
  onProblem(message: string, cause: unknown): void;
  limits?: Partial<CourierLimits>;
  /** How long a settlement waits for others to share its commit with; 5 ms when absent. */
  gatherMs?: number;
}

export interface Courier {
  start(): void;
  /** There may be something due that was not before. */
  wake(): void;
  /** Begins nothing more, waits for what is under way at most so long, writes it down and gives all leases back. */
  stop(options: { drainMs: number }): Promise<void>;
}

/** A subscription and its key are looked at again after so long: a disabled key is heeded within this time. */
const VET_MS = 1_000;
/** The deliveries of a disabled key are looked at again after so long. */
const HELD_MS = 2_000;
/** How long a subscription that cannot be worked on now is left alone: no secret, too many in trouble, a store that fails. */
const PUT_OFF_MS = 5_000;
/** Also without being woken the store is asked this often: other processes write to it too. */
const IDLE_MS = 5_000;
/** The least time between two looks at a store that says something is due and has nothing to lease. */
const LEAST_REST_MS = 100;
const LEASES_AT_ONCE = 100;
const MOST_READ_AHEAD = 64;
const MOST_UNSETTLED = 2_000;
/** With more subscriptions due than lanes, each has so long before it makes room for the next. */
const TURN_MS = 5_000;

/**
 * Delivers what is due. It leases subscriptions, posts the due deliveries of each in their order and a few at a time, and
 * writes down what came of them: at least once, never lost. The lanes take turns, and those in trouble share a smaller
 * number of posts among themselves.
 */
export function createCourier(parts: CourierParts): Courier {
  const { store, attempt, isKeyEnabled, recipient, message, now, wait, onProblem, gatherMs = 5 } = parts;
  const limits = { ...COURIER_LIMITS, ...parts.limits };
  const lanes = new Map<string, Lane>();
  const health = createHealthBook();
  const posts = createPostBook(limits);
  const ready = { well: [] as Lane[], troubled: [] as Lane[] };
  const aborting = new AbortController();
  const underWay = new Set<Promise<void>>();
  let isStopping = false;
  let isFresh = false;
  let sweeping: Promise<void> | undefined;

  const settler = createSettler({
    store,
    wait,
    gatherMs,
    onProblem: (cause) => onProblem("attempts cannot be written down; trying on", cause),
    onSettled(settlements) {
      for (const { lease, deliveryId } of settlements) {
        const lane = lanes.get(lease.subscriptionId);
        if (lane?.lease.token !== lease.token) continue;
        lane.held.delete(deliveryId);
        tend(lane);
      }
      pump();
    },
  });

  /** Keeps what it does from ending the process, and `stop` waiting for it. */
  function background(work: Promise<void>, problem: string): void {
    const tracked = work.catch((cause) => onProblem(problem, cause)).finally(() => underWay.delete(tracked));
    underWay.add(tracked);
  }

  /** Whatever is to be done next for a lane. */
  function tend(lane: Lane): void {
    if (lane.isClosed || lane.isLooking) return;
    if (lane.closing !== undefined) {
      if (lane.held.size === 0) giveBack(lane);
      return;
    }
    if (now() - lane.vettedAtMs >= VET_MS || (!lane.isDry && lane.queue.length < lane.limit)) look(lane);
    else if (lane.isDry && lane.held.size === 0) giveBack(lane);
    if (lane.queue.length > 0 && !lane.isReady) {
      lane.isReady = true;
      (isTroubled(lane.health) ? ready.troubled : ready.well).push(lane);
    }
  }

  function canPost(lane: Lane): boolean {
    const nowMs = now();
    return !lane.isClosed && lane.closing === undefined && lane.queue.length > 0 && lane.inFlight < lane.limit &&
      nowMs < lane.lease.untilMs && nowMs - lane.vettedAtMs < VET_MS;
  }

  /** Begins as many posts as there may be, one of each lane in turn. */
  function pump(): void {
    if (isStopping || settler.size > MOST_UNSETTLED) return;
    while (ready.well.length > 0 && posts.hasRoom(false)) turn(ready.well.shift()!);
    while (ready.troubled.length > 0 && posts.hasRoom(true)) turn(ready.troubled.shift()!);
  }

  function turn(lane: Lane): void {
    lane.isReady = false;
    if (!canPost(lane)) {
      if (lane.inFlight < lane.limit) tend(lane);
      return;
    }
    background(post(lane), "a delivery could not be attempted");
    tend(lane);
  }

  async function post(lane: Lane): Promise<void> {
    const { delivery, event } = lane.queue.shift()!;
    const ticket = posts.begin(lane, now());
    lane.inFlight++;
    sweeping ??= sweep().finally(() => sweeping = undefined);
    try {
      const made = await attempt(
        { recipient: lane.recipient!, delivery, message: message(event) },
        aborting.signal,
      );
      // Cut off by a stop, nothing is known of it: it stays due.
      if (aborting.signal.aborted && made.outcome !== "delivered") return;
      learn(lane, made, limits);
      settler.add({ lease: lane.lease, deliveryId: delivery.id, attempt: made });
      const breakMs = breakAfter(lane.health.failures);
      if (breakMs > 0) close(lane, { notBeforeMs: now() + breakMs });
    } catch (cause) {
      // Not for what an endpoint does: something is wrong here, and it stays due.
      lane.held.delete(delivery.id);
      close(lane, { notBeforeMs: now() + PUT_OFF_MS });
      throw cause;
    } finally {
      posts.end(ticket);
      lane.inFlight--;
      tend(lane);
      pump();
    }
  }

  /** Posts that take long are no longer counted among the quick ones, and lanes that wait on them look for more. */
  async function sweep(): Promise<void> {
    while (posts.size > 0 && !aborting.signal.aborted) {
      await wait(limits.slowMs / 2, aborting.signal);
      for (const lane of posts.markSlow(now())) {
        lane.health = { ...lane.health, isSlow: true };
        lane.limit = 1;
      }
      refreshDry();
      pump();
    }
  }

  function refreshDry(): void {
    for (const lane of lanes.values()) {
      if (!lane.isDry || lane.inFlight >= lane.limit) continue;
      lane.isDry = false;
      tend(lane);
    }
  }

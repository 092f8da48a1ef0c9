import type { Wait } from "../../clock.ts";
import type { Store, StoredEvent } from "../../store/store.ts";
import type { Subscription } from "../../store/webhook_store.ts";
import type { Attempter, EventMessage, Recipient } from "./attempt.ts";
import { COURIER_LIMITS, type CourierLimits } from "./lane.ts";
import { createLanes } from "./lanes.ts";
import { createLoop } from "../../loop.ts";
import { createPosting } from "./posting.ts";
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
  /** Told of what goes wrong on this side: no secret and no URL in it. */
  onProblem(message: string, cause: unknown): void;
  limits?: Partial<CourierLimits>;
  /** How long what an attempt came to waits for others to share its commit with; 5 ms when absent. */
  gatherMs?: number;
}

export interface Courier {
  start(): void;
  /** These subscriptions have something due that was not before. */
  wake(subscriptionIds: Iterable<string>): void;
  /** Whether it holds no lease and asks for none. */
  readonly isIdle: boolean;
  /** Begins nothing more, waits for what is under way at most so long, writes it down and gives all leases back. */
  stop(options: { drainMs: number }): Promise<void>;
}

const LEASES_AT_ONCE = 100;
/** Without being woken the store is asked this often: other processes write to it too. */
const IDLE_MS = 5_000;
/** The least time between two looks at a store that has something due and nothing to lease. */
const LEAST_REST_MS = 100;
/** With more subscriptions due than there are lanes, each has so long before it makes room for the next. */
const TURN_MS = 5_000;
const MOST_UNSETTLED = 2_000;
/** How often the leases are looked after. */
const KEEP_MS = 250;

/**
 * Delivers what is due, at least once and never lost: leases subscriptions, posts the due deliveries of each in their
 * order and a few at a time, writes down what came of them, and gives the lease back when nothing more is due.
 */
export function createCourier(parts: CourierParts): Courier {
  const { store, now, wait, onProblem, gatherMs = 5 } = parts;
  const limits = { ...COURIER_LIMITS, ...parts.limits };
  const fresh = new Set<string>();
  let isLeasing = false;

  const settler = createSettler({
    store,
    wait,
    gatherMs,
    onSettled(settlements) {
      lanes.settled(settlements);
      posting.pump();
    },
    onProblem: (cause) => onProblem("attempts cannot be written down; trying on", cause),
  });
  const lanes = createLanes({
    ...parts,
    limits,
    onReady(lane) {
      posting.offer(lane);
      posting.pump();
    },
    onGivenBack: () => leasing.wake(),
    onFirst: () => keeping.wake(),
  });
  const posting = createPosting({
    ...parts,
    limits,
    settle: settler.add,
    isClogged: () => settler.size > MOST_UNSETTLED,
    onChange: lanes.tend,
  });
  const leasing = createLoop({
    step: lease,
    wait,
    onProblem: (cause) => onProblem("what is due cannot be read; trying on", cause),
  });
  const keeping = createLoop({
    async step() {
      await lanes.keep();
      return lanes.size === 0 ? Infinity : KEEP_MS;
    },
    wait,
    onProblem: (cause) => onProblem("leases cannot be prolonged; trying on", cause),
  });

  async function openLanes(limit: number): Promise<number> {
    isLeasing = true;
    try {
      const leases = await store.leaseSubscriptions({ nowMs: now(), leaseMs: limits.leaseMs, limit });
      for (const lease of leases) lanes.open(lease);
      return leases.length;
    } finally {
      isLeasing = false;
    }
  }

  /** Leases what is due; answers how long there is nothing more to lease. */
  async function lease(): Promise<number> {
    lanes.refresh(fresh);
    fresh.clear();
    const limit = Math.min(LEASES_AT_ONCE, limits.lanes - lanes.size);
    if (limit > 0 && await openLanes(limit) === limit) return 0;
    const nextDueAtMs = await store.nextDueAtMs();
    if (limit <= 0 && nextDueAtMs !== undefined && nextDueAtMs <= now()) lanes.rotate(now() - TURN_MS);
    if (nextDueAtMs === undefined) return IDLE_MS;
    return Math.min(IDLE_MS, Math.max(LEAST_REST_MS, nextDueAtMs - now()));
  }

  return {
    start() {
      leasing.start();
      keeping.start();
    },
    wake(subscriptionIds) {
      for (const id of subscriptionIds) fresh.add(id);
      leasing.wake();
    },
    get isIdle() {
      return lanes.size === 0 && !isLeasing;
    },
    async stop({ drainMs }) {
      await leasing.stop();
      await posting.stop(drainMs);
      await settler.drain();
      await keeping.stop();
      await lanes.stop();
    },
  };
}

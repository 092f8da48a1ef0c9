import type { Attempt, DueDelivery, SubscriptionLease } from "../store/webhook_store.ts";
import type { Recipient } from "./attempt.ts";

/** How far a courier goes. All of it is bounded, so that no endpoint can hold up another. */
export interface CourierLimits {
  /** A subscription is leased for so long, and the lease prolonged while it is worked on. */
  leaseMs: number;
  /** Posts under way at once to endpoints that answer well. */
  posts: number;
  /** Posts under way at once to endpoints that fail or are slow. */
  troubledPosts: number;
  /** All posts under way, those included that became slow after they began. */
  allPosts: number;
  /** Posts under way at once to one endpoint. */
  postsPerLane: number;
  /** Subscriptions leased at once. */
  lanes: number;
  /** Of them to endpoints that fail or are slow. */
  troubledLanes: number;
  /** An answer that takes longer is slow. */
  slowMs: number;
}

export const COURIER_LIMITS: CourierLimits = {
  leaseMs: 30_000,
  posts: 256,
  troubledPosts: 64,
  allPosts: 1_024,
  postsPerLane: 16,
  lanes: 768,
  troubledLanes: 256,
  slowMs: 1_000,
};

/** How an endpoint did lately; what is known of it outlives its lease. */
export interface Health {
  /** Failures in a row. */
  failures: number;
  isSlow: boolean;
}

/** A leased subscription that is being worked on. */
export interface Lane {
  lease: SubscriptionLease;
  /** Undefined until it was looked at. */
  recipient: Recipient | undefined;
  /** When subscription and key were last looked at. */
  vettedAtMs: number;
  /** Due deliveries that are next, in their order. */
  queue: DueDelivery[];
  /** Ids of the deliveries in the queue, under way, and not yet written down. */
  held: Set<string>;
  inFlight: number;
  /** How many may be in flight: grows with success, shrinks to one with failure. */
  limit: number;
  health: Health;
  /** The store had nothing more that is due. */
  isDry: boolean;
  /** The store is being asked. */
  isLooking: boolean;
  /** Waits for its turn to post. */
  isReady: boolean;
  leasedAtMs: number;
  /** Begins nothing more, and is given back when nothing is under way. */
  closing: { notBeforeMs?: number } | undefined;
  /** Given back or lost. */
  isClosed: boolean;
}

const FIRST_LIMIT = 4;
const FIRST_BREAK_MS = 250;
const LONGEST_BREAK_MS = 5_000;

export function newLane(lease: SubscriptionLease, health: Health, nowMs: number): Lane {
  return {
    lease,
    recipient: undefined,
    vettedAtMs: -Infinity,
    queue: [],
    held: new Set(),
    inFlight: 0,
    limit: isTroubled(health) ? 1 : FIRST_LIMIT,
    health,
    isDry: false,
    isLooking: false,
    isReady: false,
    leasedAtMs: nowMs,
    closing: undefined,
    isClosed: false,
  };
}

export function isTroubled({ failures, isSlow }: Health): boolean {
  return failures > 0 || isSlow;
}

/** Learns from an attempt how much the endpoint can take. */
export function learn(lane: Lane, { outcome, durationMs }: Attempt, { postsPerLane, slowMs }: CourierLimits): void {
  const failed = outcome === "retry" || outcome === "dead";
  const isSlow = durationMs > slowMs;
  lane.health = { failures: failed ? lane.health.failures + 1 : 0, isSlow };
  if (failed) lane.limit = 1;
  else if (isSlow) lane.limit = Math.max(1, lane.limit >> 1);
  else lane.limit = Math.min(postsPerLane, lane.limit + 1);
}

/**
 * How long an endpoint is left in peace after so many failures in a row, in milliseconds: a dead one is not hammered with
 * all that is due to it, and is found alive again within seconds.
 */
export function breakAfter(failures: number): number {
  return failures < 2 ? 0 : Math.min(LONGEST_BREAK_MS, FIRST_BREAK_MS * 2 ** Math.min(failures - 2, 10));
}

/** Takes what was read from the store into the queue. */
export function enqueue(lane: Lane, due: DueDelivery[]): void {
  for (const item of due) {
    lane.held.add(item.delivery.id);
    lane.queue.push(item);
  }
}

/** Begins nothing more; what waits in the queue stays due. */
export function close(lane: Lane, options: { notBeforeMs?: number } = {}): void {
  lane.closing ??= options;
  for (const { delivery } of lane.queue) lane.held.delete(delivery.id);
  lane.queue = [];
}

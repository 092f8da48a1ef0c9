import type { DueDelivery, SubscriptionLease } from "../../store/webhook_store.ts";
import type { Recipient } from "./attempt.ts";
import type { Health } from "./health.ts";

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
  /** Of them, those whose endpoints fail or are slow. */
  troubledLanes: number;
  /** An answer that takes longer is slow. */
  slowMs: number;
}

export const COURIER_LIMITS: CourierLimits = {
  leaseMs: 15_000,
  posts: 256,
  troubledPosts: 64,
  allPosts: 1_024,
  postsPerLane: 16,
  lanes: 768,
  troubledLanes: 256,
  slowMs: 1_000,
};

/** A subscription and its key are looked at again after so long: a disabled key is heeded within this time. */
export const VET_MS = 1_000;

/** Posts of one turn: what many lanes come to is written down with less work when it comes in runs. */
export const TURN_POSTS = 32;

/** A leased subscription that is being worked on. */
export interface Lane {
  lease: SubscriptionLease;
  leasedAtMs: number;
  /** Undefined until the subscription was looked at. */
  recipient: Recipient | undefined;
  /** When subscription and key were last looked at. */
  vettedAtMs: number;
  /** Due deliveries that are next, in their order. */
  queue: DueDelivery[];
  /** Ids of the deliveries in the queue, under way, and not yet written down. */
  held: Set<string>;
  inFlight: number;
  /** How many may be in flight: one until the endpoint has answered, more with each success, one after a failure. */
  limit: number;
  health: Health;
  /** The store had nothing more that is due. */
  isDry: boolean;
  /** The store is being asked. */
  isLooking: boolean;
  /** Since when it has had nothing to do. */
  idleSinceMs: number | undefined;
  /** How many posts are left of its turn. */
  turnPosts: number;
  /** Waits for its turn to post. */
  isReady: boolean;
  /** Begins nothing more, and is given back when nothing is under way. */
  closing: { notBeforeMs?: number } | undefined;
  /** Given back or lost. */
  isClosed: boolean;
}

export function newLane(lease: SubscriptionLease, health: Health, nowMs: number): Lane {
  return {
    lease,
    leasedAtMs: nowMs,
    recipient: undefined,
    vettedAtMs: -Infinity,
    queue: [],
    held: new Set(),
    inFlight: 0,
    limit: 1,
    health,
    isDry: false,
    isLooking: false,
    idleSinceMs: undefined,
    turnPosts: TURN_POSTS,
    isReady: false,
    closing: undefined,
    isClosed: false,
  };
}

/** Whether its next delivery may be posted now: its lease holds, and subscription and key were looked at lately. */
export function canPost(lane: Lane, nowMs: number): boolean {
  return !lane.isClosed && lane.closing === undefined && lane.queue.length > 0 && lane.inFlight < lane.limit &&
    nowMs < lane.lease.untilMs && nowMs - lane.vettedAtMs < VET_MS;
}

/** Learns from how the endpoint did how much it can take. */
export function adapt(lane: Lane, health: Health, postsPerLane: number): void {
  lane.health = health;
  if (health.failures > 0) lane.limit = 1;
  else if (health.isSlow) lane.limit = Math.max(1, lane.limit >> 1);
  else lane.limit = Math.min(postsPerLane, lane.limit + 1);
}

/** Begins nothing more; what waits in the queue stays due. */
export function close(lane: Lane, options: { notBeforeMs?: number } = {}): void {
  lane.closing ??= options;
  for (const { delivery } of lane.queue) lane.held.delete(delivery.id);
  lane.queue = [];
}

import type { Store } from "../../store/store.ts";
import type { Settlement, Subscription, SubscriptionLease } from "../../store/webhook_store.ts";
import type { Recipient } from "./attempt.ts";
import { createHealthBook, isTroubled } from "./health.ts";
import { canPost, close, type CourierLimits, type Lane, newLane, TURN_POSTS, VET_MS } from "./lane.ts";

export interface LanesParts {
  store: Pick<Store, "getSubscription" | "dueDeliveries" | "renewLeases" | "releaseLease">;
  /** Whether the key is there, enabled and not expired: the deliveries of others are held. */
  isKeyEnabled(keyId: string): Promise<boolean>;
  /** The subscription with its secrets opened. */
  recipient(subscription: Subscription): Recipient;
  now(): number;
  limits: CourierLimits;
  /** The lane has something to post. */
  onReady(lane: Lane): void;
  /** A lease was given back: something of it may be due later. */
  onGivenBack(): void;
  /** There was no lane before this one. */
  onFirst(): void;
  onProblem(message: string, cause: unknown): void;
}

/** The subscriptions under lease, each looked after until it has nothing more that is due. */
export interface Lanes {
  readonly size: number;
  open(lease: SubscriptionLease): void;
  /** Does whatever is to be done next for a lane. */
  tend(lane: Lane): void;
  /** Takes note of what has been written down. */
  settled(settlements: Settlement[]): void;
  /** Asks the store again for these: they have something new. */
  refresh(subscriptionIds: Iterable<string>): void;
  /** Called often: gives back what is no longer needed and prolongs the leases that need it. Rejects when the store fails. */
  keep(): Promise<void>;
  /** Makes room for others: those that were leased before this begin nothing more for now. */
  rotate(leasedBeforeMs: number): void;
  /** Gives all back. */
  stop(): Promise<void>;
}

/** The deliveries of a disabled key are looked at again after so long. */
const HELD_MS = 2_000;
/** How long a subscription is left alone that cannot be worked on now. */
const PUT_OFF_MS = 5_000;
/** A lane with nothing more to do is kept so long, so that steady traffic does not lease it again and again. */
const LINGER_MS = 500;
/** After its turn a lane lets others go first. */
const AFTER_TURN_MS = 1_000;
const MOST_READ_AHEAD = 64;
const RENEWED_AT_ONCE = 100;

export function createLanes(parts: LanesParts): Lanes {
  const { store, isKeyEnabled, recipient, now, limits, onReady, onGivenBack, onFirst, onProblem } = parts;
  const lanes = new Map<string, Lane>();
  const health = createHealthBook();
  const underWay = new Set<Promise<void>>();

  /** Lets `stop` wait for it; a store that fails ends the lane, and its lease runs out. */
  function run(lane: Lane, work: Promise<void>): void {
    const tracked = work.catch((cause) => {
      onProblem("the store fails on what is due; trying on", cause);
      close(lane, { notBeforeMs: now() + PUT_OFF_MS });
      lane.isLooking = false;
      tend(lane);
    }).finally(() => underWay.delete(tracked));
    underWay.add(tracked);
  }

  const isIdle = (lane: Lane) => lane.isDry && lane.held.size === 0;
  const needsMore = (lane: Lane) => !lane.isDry && lane.queue.length < lane.limit / 4;

  function tend(lane: Lane): void {
    if (lane.isClosed || lane.isLooking) return;
    if (lane.closing !== undefined) {
      if (lane.held.size === 0) run(lane, giveBack(lane));
      return;
    }
    if (isIdle(lane)) {
      lane.idleSinceMs ??= now();
      lane.turnPosts = TURN_POSTS;
      return;
    }
    lane.idleSinceMs = undefined;
    if (now() - lane.vettedAtMs >= VET_MS || needsMore(lane)) {
      lane.isLooking = true;
      run(lane, look(lane));
    }
    if (canPost(lane, now())) onReady(lane);
  }

  /** Looks at key and subscription again when that is due, and reads what it is to post next. */
  async function look(lane: Lane): Promise<void> {
    if (now() - lane.vettedAtMs >= VET_MS) await vet(lane);
    if (lane.closing === undefined && needsMore(lane)) await readAhead(lane);
    lane.isLooking = false;
    tend(lane);
  }

  async function vet(lane: Lane): Promise<void> {
    const vettedAtMs = now();
    const subscription = await store.getSubscription(lane.lease.subscriptionId);
    if (subscription === undefined) return close(lane);
    if (!await isKeyEnabled(subscription.keyId)) return close(lane, { notBeforeMs: vettedAtMs + HELD_MS });
    if (lane.recipient === undefined && isTroubled(lane.health) && troubled() > limits.troubledLanes) {
      return close(lane, { notBeforeMs: vettedAtMs + PUT_OFF_MS });
    }
    try {
      lane.recipient = recipient(subscription);
    } catch (cause) {
      onProblem(`the secret of ${subscription.id} cannot be opened: its deliveries are held`, cause);
      return close(lane, { notBeforeMs: vettedAtMs + PUT_OFF_MS });
    }
    lane.vettedAtMs = vettedAtMs;
  }

  function troubled(): number {
    let count = 0;
    for (const lane of lanes.values()) if (isTroubled(lane.health)) count++;
    return count;
  }

  async function readAhead(lane: Lane): Promise<void> {
    // Set before asking: what becomes due meanwhile unsets it again.
    lane.isDry = true;
    const limit = Math.min(MOST_READ_AHEAD, 4 * lane.limit);
    const due = await store.dueDeliveries({
      subscriptionId: lane.lease.subscriptionId,
      nowMs: now(),
      limit,
      // As of now: what is written down while the store answers may still be due in what it has read.
      except: new Set(lane.held),
    });
    if (lane.closing !== undefined) return;
    if (due.length === limit) lane.isDry = false;
    for (const item of due) {
      lane.held.add(item.delivery.id);
      lane.queue.push(item);
    }
  }

  async function giveBack(lane: Lane): Promise<void> {
    drop(lane);
    await store.releaseLease(lane.lease, lane.closing);
    onGivenBack();
  }

  function drop(lane: Lane): void {
    lane.isClosed = true;
    health.note(lane.lease.subscriptionId, lane.health);
    if (lanes.get(lane.lease.subscriptionId) === lane) lanes.delete(lane.lease.subscriptionId);
  }

  return {
    get size() {
      return lanes.size;
    },
    open(lease) {
      const lane = newLane(lease, health.of(lease.subscriptionId), now());
      lanes.set(lease.subscriptionId, lane);
      if (lanes.size === 1) onFirst();
      tend(lane);
    },
    tend,
    settled(settlements) {
      for (const { lease, deliveryId } of settlements) {
        const lane = lanes.get(lease.subscriptionId);
        if (lane?.lease.token !== lease.token) continue;
        lane.held.delete(deliveryId);
        tend(lane);
      }
    },
    refresh(subscriptionIds) {
      for (const id of subscriptionIds) {
        const lane = lanes.get(id);
        if (lane === undefined) continue;
        lane.isDry = false;
        tend(lane);
      }
    },
    async keep() {
      for (const lane of lanes.values()) {
        // What became due by itself, or by another process, is seen while a post keeps the lane.
        if (lane.inFlight > 0) lane.isDry = false;
        else if (lane.idleSinceMs !== undefined && now() - lane.idleSinceMs >= LINGER_MS) close(lane);
        tend(lane);
      }
      const old = [...lanes.values()].filter(({ lease }) => lease.untilMs - now() < limits.leaseMs * 0.7);
      for (let from = 0; from < old.length; from += RENEWED_AT_ONCE) {
        const some = old.slice(from, from + RENEWED_AT_ONCE);
        const renewed = await store.renewLeases(some.map(({ lease }) => lease), now() + limits.leaseMs);
        const byId = new Map(renewed.map((lease) => [lease.subscriptionId, lease]));
        for (const lane of some) {
          const lease = byId.get(lane.lease.subscriptionId);
          if (lease === undefined) drop(lane);
          else lane.lease = lease;
          tend(lane);
        }
      }
    },
    rotate(leasedBeforeMs) {
      for (const lane of lanes.values()) {
        if (isIdle(lane)) close(lane);
        else if (lane.leasedAtMs < leasedBeforeMs) close(lane, { notBeforeMs: now() + AFTER_TURN_MS });
        tend(lane);
      }
    },
    async stop() {
      for (const lane of lanes.values()) close(lane);
      while (underWay.size > 0) await Promise.all(underWay);
      await Promise.all([...lanes.values()].map((lane) => {
        drop(lane);
        return store.releaseLease(lane.lease).catch((cause) => onProblem("a lease could not be given back", cause));
      }));
    },
  };
}

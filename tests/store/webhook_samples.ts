import type { Store } from "../../lib/store/store.ts";
import type {
  Attempt,
  AttemptOutcome,
  Delivery,
  Subscription,
  SubscriptionLease,
} from "../../lib/store/webhook_store.ts";
import { sampleEvent, samplePosition, sampleState } from "./samples.ts";

export const START_MS = 1_793_491_200_000;

export function sampleSubscription(id: string, fields: Partial<Subscription> = {}): Subscription {
  return {
    id,
    keyId: "key",
    url: `https://hooks.example/${id}`,
    types: null,
    deviceHash: null,
    merchant: null,
    secret: `whsec_of_${id}`,
    previousSecret: null,
    createdAt: "2026-11-01T00:00:00.000Z",
    startPosition: samplePosition(0),
    ...fields,
  };
}

/** The delivery of event `n`, due at the start. */
export function sampleDelivery(subscriptionId: string, n: number, fields: Partial<Delivery> = {}): Delivery {
  return {
    id: `${subscriptionId}:${samplePosition(n)}`,
    subscriptionId,
    position: samplePosition(n),
    attempts: 0,
    dueAtMs: START_MS,
    createdAtMs: START_MS,
    ...fields,
  };
}

export function sampleAttempt(subscriptionId: string, n: number, fields: Partial<Attempt> = {}): Attempt {
  return {
    id: `at_${String(n).padStart(6, "0")}`,
    subscriptionId,
    deliveryId: null,
    eventId: `event-${n}`,
    eventType: "escrow.funded",
    number: 1,
    atMs: START_MS + n,
    durationMs: 12,
    outcome: "delivered",
    statusCode: 200,
    error: null,
    responseBody: "ok",
    nextAttemptAtMs: null,
    ...fields,
  };
}

/** What an attempt at the delivery of event `n` came to; `retry` after ten seconds. */
export function settlement(
  lease: SubscriptionLease,
  n: number,
  outcome: AttemptOutcome,
  fields: Partial<Attempt> = {},
) {
  const { id: deliveryId } = sampleDelivery(lease.subscriptionId, n);
  const nextAttemptAtMs = outcome === "retry" ? START_MS + 10_000 : null;
  return {
    lease,
    deliveryId,
    attempt: sampleAttempt(lease.subscriptionId, n, { deliveryId, outcome, nextAttemptAtMs, ...fields }),
  };
}

/** Fails in the middle of whatever reads this field: a write that must then leave nothing behind. */
export function poisoned<T extends object>(record: T, field: keyof T): T {
  return Object.defineProperty({ ...record }, field, {
    enumerable: true,
    get() {
      throw new Error("poisoned");
    },
  });
}

export async function subscribe(store: Store, ...ids: string[]): Promise<void> {
  for (const id of ids) await store.insertSubscription(sampleSubscription(id), 100);
}

/** Commits the events `from` to `to`. */
export async function commitEvents(store: Store, from: number, to: number): Promise<void> {
  for (let n = from; n <= to; n += 100) {
    const length = Math.min(100, to - n + 1);
    const events = Array.from({ length }, (_, index) => sampleEvent(n + index));
    await store.commitEvents({ events, state: sampleState(1_000 + n) });
  }
}

/** Fans deliveries out, moving the cursor to the last position of them, or to `upTo`. */
export async function fanOut(store: Store, deliveries: Delivery[], upTo?: string): Promise<boolean> {
  const expected = await store.fanOutCursor();
  const position = upTo ?? deliveries.map((delivery) => delivery.position).sort().at(-1)!;
  return await store.commitFanOut({ expected, cursor: { position, lastDueAtMs: START_MS }, deliveries });
}

/** Leases everything that is due at this time, for ten seconds; by subscription. */
export async function leaseAll(store: Store, nowMs = START_MS): Promise<Map<string, SubscriptionLease>> {
  const leases = await store.leaseSubscriptions({ nowMs, leaseMs: 10_000, limit: 100 });
  return new Map(leases.map((lease) => [lease.subscriptionId, lease]));
}

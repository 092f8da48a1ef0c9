import { isoTime } from "../clock.ts";
import { type LoggedEvent, matches } from "../store/event.ts";
import type { Store } from "../store/store.ts";
import { type Attempt, type FailedDelivery, filterOf, type StoredConsumer } from "../store/webhook.ts";
import { MAX_SUBSCRIPTIONS_PER_KEY } from "./creation.ts";
import { storedAttempts } from "./failed_deliveries.ts";

/** Read in this order: a delivery that moves on meanwhile is found under its later state. */
const FAILED_IN_ORDER = ["retrying", "rejected", "dead"] as const;
export const DELIVERY_STATES = ["delivered", "waiting", ...FAILED_IN_ORDER] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** The delivery of an event to a webhook. */
export interface EventDelivery {
  webhookId: string;
  eventId: string;
  type: string;
  state: DeliveryState;
  /** At least so many, replays and probes included. Null: it was delivered, and the store no longer has an attempt. */
  attempts: number | null;
  /** ISO 8601 UTC. Null: there was none, or the store no longer has it. */
  lastAttemptAt: string | null;
  /** HTTP status of the last attempt. Null: there was no response, or the store no longer has the attempt. */
  lastStatus: number | null;
}

/**
 * The state of a delivery, with its row if it failed. A failed one whose row the store has deleted (`FAILED_KEPT`) counts as delivered.
 * @param event one that the webhook's filter lets through
 */
export async function deliveryState(
  { deliveries }: Pick<Store, "deliveries">,
  { subscription, progress: { cursor, retrying, rejected, dead } }: StoredConsumer,
  { sequence }: LoggedEvent,
): Promise<{ state: DeliveryState; failed?: FailedDelivery }> {
  for (const state of retrying + rejected + dead === 0 ? [] : FAILED_IN_ORDER) {
    const beyond = state === "retrying" ? sequence - 1 : sequence + 1;
    const [first] = await deliveries.failed({ subscriptionId: subscription.id, state, beyond, limit: 1 });
    if (first?.delivery.sequence === sequence) return { state, failed: first.delivery };
  }
  return { state: sequence > cursor ? "waiting" : "delivered" };
}

/** What is known of a delivery's attempts. @param stored those of its event, newest first */
function attemptsOf(
  { state, failed }: Awaited<ReturnType<typeof deliveryState>>,
  stored: Attempt[],
): Pick<EventDelivery, "attempts" | "lastAttemptAt" | "lastStatus"> {
  const [last] = stored;
  const attempts = Math.max(failed?.attempts ?? 0, stored.length, ...stored.map(({ number }) => number));
  const lastAttemptAtMs = last?.atMs ?? (attempts > 0 && failed?.attemptedAtMs || null);
  return {
    attempts: attempts === 0 && state === "delivered" ? null : attempts,
    lastAttemptAt: lastAttemptAtMs === null ? null : isoTime(lastAttemptAtMs),
    lastStatus: last?.statusCode ?? null,
  };
}

/**
 * The deliveries of these events to a key's webhooks, by the webhook's id. A webhook that began after an event has none of it,
 * also when a replay delivered the event. The cost grows with the webhooks only: it reads all stored attempts of each.
 */
export async function deliveriesOf(
  store: Pick<Store, "subscriptions" | "deliveries">,
  keyId: string,
  events: LoggedEvent[],
): Promise<EventDelivery[]> {
  const subscriptions = await store.subscriptions.list({ keyId, limit: MAX_SUBSCRIPTIONS_PER_KEY });
  const found = await Promise.all(subscriptions.map(async (subscription) => {
    const owed = events.filter((event) => matches(filterOf(subscription), event));
    const consumer = owed.length === 0 ? undefined : await store.deliveries.consumer(subscription.id);
    if (consumer === undefined) return [];
    const states = await Promise.all(owed.map((event) => deliveryState(store, consumer, event)));
    // Read last: a delivered event then has its attempt.
    const attempts = new Map(owed.map(({ id }): [string, Attempt[]] => [id, []]));
    for await (const attempt of storedAttempts(store, subscription.id)) attempts.get(attempt.eventId)?.push(attempt);
    return owed.map(({ id, type }, at) => ({
      webhookId: subscription.id,
      eventId: id,
      type,
      state: states[at]!.state,
      ...attemptsOf(states[at]!, attempts.get(id)!),
    }));
  }));
  return found.flat();
}

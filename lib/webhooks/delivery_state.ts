import { type LoggedEvent, matches } from "../store/event.ts";
import type { Store } from "../store/store.ts";
import { filterOf, type StoredConsumer } from "../store/webhook.ts";
import { MAX_SUBSCRIPTIONS_PER_KEY } from "./creation.ts";

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
}

/**
 * The state of a delivery. A failed one whose row the store has deleted (`FAILED_KEPT`) counts as delivered.
 * @param event one that the webhook's filter lets through
 */
export async function deliveryState(
  { deliveries }: Pick<Store, "deliveries">,
  { subscription, progress: { cursor, retrying, rejected, dead } }: StoredConsumer,
  { sequence }: LoggedEvent,
): Promise<DeliveryState> {
  for (const state of retrying + rejected + dead === 0 ? [] : FAILED_IN_ORDER) {
    const beyond = state === "retrying" ? sequence - 1 : sequence + 1;
    const [first] = await deliveries.failed({ subscriptionId: subscription.id, state, beyond, limit: 1 });
    if (first?.delivery.sequence === sequence) return state;
  }
  return sequence > cursor ? "waiting" : "delivered";
}

/**
 * The deliveries of these events to a key's webhooks, by the webhook's id. A webhook that began after an event has none of it,
 * also when a replay delivered the event. The cost grows with the webhooks only.
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
    return await Promise.all(owed.map(async (event) => {
      const state = await deliveryState(store, consumer, event);
      return { webhookId: subscription.id, eventId: event.id, type: event.type, state };
    }));
  }));
  return found.flat();
}

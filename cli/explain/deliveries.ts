import { isoTime } from "../../lib/clock.ts";
import { type LoggedEvent, matches } from "../../lib/store/event.ts";
import type { Store } from "../../lib/store/store.ts";
import { filterOf, type Subscription } from "../../lib/store/webhook.ts";
import { deliveryState } from "../../lib/webhooks/delivery_state.ts";
import { storedAttempts } from "../../lib/webhooks/failed_deliveries.ts";
import type { Timeline } from "./step.ts";

/** The store's limit of a page. */
const SUBSCRIPTIONS_AT_ONCE = 1_000;

type WebhookStore = Pick<Store, "subscriptions" | "deliveries">;

/**
 * Adds every webhook's attempts to deliver these events, or the state of a delivery without one.
 * @param events with the place of each in the timeline
 */
export async function addDeliveries(
  store: WebhookStore,
  events: ReadonlyMap<LoggedEvent, number>,
  timeline: Timeline,
): Promise<void> {
  let after: string | undefined;
  while (true) {
    const page = await store.subscriptions.list({ after, limit: SUBSCRIPTIONS_AT_ONCE });
    for (const subscription of page) {
      const its = [...events.keys()].filter((event) => matches(filterOf(subscription), event));
      if (its.length > 0) {
        await addOfWebhook(store, subscription, new Map(its.map((one) => [one, events.get(one)!])), timeline);
      }
    }
    if (page.length < SUBSCRIPTIONS_AT_ONCE) return;
    after = page.at(-1)!.id;
  }
}

async function addOfWebhook(
  store: WebhookStore,
  { id: webhook, url }: Subscription,
  events: ReadonlyMap<LoggedEvent, number>,
  timeline: Timeline,
): Promise<void> {
  // Read first: a delivery that is settled meanwhile has an attempt.
  const consumer = await store.deliveries.consumer(webhook);
  if (consumer === undefined) return;
  const byId = new Map([...events].map(([event, after]) => [event.id, { event, after, attempts: 0 }]));
  const attempts = await Array.fromAsync(storedAttempts(store, webhook));
  for (const { eventId, eventType, atMs, number, outcome, statusCode, error, ...more } of attempts.reverse()) {
    const one = byId.get(eventId);
    if (one === undefined) continue;
    one.attempts += 1;
    const nextAttemptAt = more.nextAttemptAtMs === null ? null : isoTime(more.nextAttemptAtMs);
    const answer = { attempt: number, outcome, statusCode, error, nextAttemptAt, isReplay: more.replayId !== null };
    timeline.add({ at: isoTime(atMs), step: "attempt", webhook, url, eventId, eventType, ...answer }, one.after);
  }
  for (const { event, after, attempts } of byId.values()) {
    if (attempts > 0) continue;
    const { state } = await deliveryState(store, consumer, event);
    timeline.add({ at: null, step: "delivery", webhook, url, eventId: event.id, eventType: event.type, state }, after);
  }
}

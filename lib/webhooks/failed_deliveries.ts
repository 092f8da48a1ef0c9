import type { Store } from "../store/store.ts";
import type { Attempt, DueDelivery, FailedDelivery } from "../store/webhook.ts";

export { FAILED_STATES } from "../store/webhook.ts";

/** A failed delivery with its event and its last attempt. */
export interface FailedWithAttempt extends DueDelivery {
  /** Undefined when there was none, or it is deleted. */
  lastAttempt: Attempt | undefined;
}

/** Attempts per read, the store's limit. */
export const ATTEMPT_PAGE_SIZE = 200;

/**
 * The deliveries of a subscription in this state. Retrying ones come oldest event first, others newest first.
 * @param page at most `limit` (≤ 200), after the event with the sequence `beyond` if given
 */
export async function failedDeliveries(
  { deliveries }: Pick<Store, "deliveries">,
  subscriptionId: string,
  { state, beyond, limit }: { state: FailedDelivery["state"]; beyond?: number; limit: number },
): Promise<FailedWithAttempt[]> {
  const found = await deliveries.failed({ subscriptionId, state, beyond, limit });
  const newest = await newestAttempts({ deliveries }, subscriptionId, new Set(found.map(({ event }) => event.id)));
  return found.map((one) => ({ ...one, lastAttempt: newest.get(one.event.id) }));
}

/** The newest stored attempt of each event. A subscription has few enough to read all. */
async function newestAttempts(
  store: Pick<Store, "deliveries">,
  subscriptionId: string,
  eventIds: Set<string>,
): Promise<Map<string, Attempt>> {
  const newest = new Map<string, Attempt>();
  if (eventIds.size === 0) return newest;
  for await (const attempt of storedAttempts(store, subscriptionId)) {
    if (eventIds.has(attempt.eventId) && !newest.has(attempt.eventId)) newest.set(attempt.eventId, attempt);
    if (newest.size === eventIds.size) break;
  }
  return newest;
}

/** The stored attempts of a subscription, newest first. */
export async function* storedAttempts(
  { deliveries }: Pick<Store, "deliveries">,
  subscriptionId: string,
): AsyncGenerator<Attempt> {
  let before: number | undefined;
  while (true) {
    const page = await deliveries.attempts(subscriptionId, { before, limit: ATTEMPT_PAGE_SIZE });
    yield* page;
    if (page.length < ATTEMPT_PAGE_SIZE) return;
    before = page.at(-1)!.ordinal;
  }
}

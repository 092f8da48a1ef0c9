import type { Store } from "../store/store.ts";
import type { Attempt, DueDelivery, FailedDelivery } from "../store/webhook.ts";

export { FAILED_STATES } from "../store/webhook.ts";

/** A failed delivery with its event, and what was last tried. */
export interface FailedWithAttempt extends DueDelivery {
  /** Undefined: there was none, or it is not kept any more. */
  lastAttempt: Attempt | undefined;
}

/** Of attempts, as many as the store hands out at once. */
const ATTEMPT_PAGE_SIZE = 200;

/**
 * The deliveries of a subscription that are kept in a state: those that retry oldest event first, others newest first.
 * @param page at most `limit` (≤ 200) of them, beyond the event with the sequence `beyond` where one is given
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

/** The newest attempt of each of these events that is kept: a subscription has few enough to look through all. */
async function newestAttempts(
  { deliveries }: Pick<Store, "deliveries">,
  subscriptionId: string,
  eventIds: Set<string>,
): Promise<Map<string, Attempt>> {
  const newest = new Map<string, Attempt>();
  let before: number | undefined;
  while (newest.size < eventIds.size) {
    const page = await deliveries.attempts(subscriptionId, { before, limit: ATTEMPT_PAGE_SIZE });
    for (const attempt of page) {
      if (eventIds.has(attempt.eventId) && !newest.has(attempt.eventId)) newest.set(attempt.eventId, attempt);
    }
    if (page.length < ATTEMPT_PAGE_SIZE) break;
    before = page.at(-1)!.ordinal;
  }
  return newest;
}

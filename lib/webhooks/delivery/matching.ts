import type { StoredEvent } from "../../store/store.ts";
import type { Subscription } from "../../store/webhook_store.ts";

export type Filter = Pick<Subscription, "types" | "deviceHash" | "merchant">;
export type FilteredEvent = Pick<StoredEvent, "type" | "deviceHash" | "merchant">;

/** Whether a filter lets an event through. An event without a field does not match a filter on that field. */
export function matches({ types, deviceHash, merchant }: Filter, event: FilteredEvent): boolean {
  return (types === null || (event.type !== null && types.includes(event.type))) &&
    (deviceHash === null || event.deviceHash === deviceHash) &&
    (merchant === null || event.merchant === merchant);
}

/** What matching needs of a subscription: thousands of them are in memory. */
export type Listener = Filter & Pick<Subscription, "id" | "startPosition">;

export interface SubscriptionIndex {
  /** No subscription hears an event at or before this position; undefined when there is no subscription. */
  readonly firstStart: string | undefined;
  /** The ids of those who hear this event, ascending. */
  matching(event: FilteredEvent & Pick<StoredEvent, "position">): string[];
}

/**
 * Finds the subscriptions of an event without looking at all of them: each stands in the narrowest list that its filter
 * allows, by device, else by merchant, else by its types, else with those who hear everything.
 */
export function indexSubscriptions(listeners: readonly Listener[]): SubscriptionIndex {
  const byDevice = new Map<string, Listener[]>();
  const byMerchant = new Map<string, Listener[]>();
  const byType = new Map<string, Listener[]>();
  const others: Listener[] = [];
  let firstStart: string | undefined;
  for (const listener of listeners) {
    const { deviceHash, merchant, types, startPosition } = listener;
    if (firstStart === undefined || startPosition < firstStart) firstStart = startPosition;
    if (deviceHash !== null) add(byDevice, deviceHash, listener);
    else if (merchant !== null) add(byMerchant, merchant, listener);
    else if (types !== null) { for (const type of new Set(types)) add(byType, type, listener); }
    else others.push(listener);
  }
  return {
    firstStart,
    matching(event) {
      const lists = [
        others,
        byType.get(event.type ?? ""),
        byDevice.get(event.deviceHash ?? ""),
        byMerchant.get(event.merchant ?? ""),
      ];
      const ids: string[] = [];
      for (const list of lists) {
        for (const listener of list ?? []) {
          if (listener.startPosition < event.position && matches(listener, event)) ids.push(listener.id);
        }
      }
      return ids.sort();
    },
  };
}

function add(lists: Map<string, Listener[]>, key: string, listener: Listener): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [listener]);
  else list.push(listener);
}

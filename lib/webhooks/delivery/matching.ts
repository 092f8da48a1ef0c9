import { type EventFilter, matches, type PublicEvent } from "../../store/event.ts";

/** Finds the listeners of an event. */
export interface Matcher<Listener> {
  add(filter: EventFilter, listener: Listener): void;
  /** The listeners of this event, in no order. */
  matching(event: PublicEvent): Listener[];
}

interface Entry<Listener> {
  filter: EventFilter;
  listener: Listener;
}

/**
 * Finds listeners without checking all of them. Each is in the narrowest list of its filter: device, else merchant,
 * else types, else the list for all events.
 */
export function createMatcher<Listener>(): Matcher<Listener> {
  const byDevice = new Map<string, Entry<Listener>[]>();
  const byMerchant = new Map<string, Entry<Listener>[]>();
  const byType = new Map<string, Entry<Listener>[]>();
  const others: Entry<Listener>[] = [];

  return {
    add(filter, listener) {
      const entry = { filter, listener };
      const { deviceHash, merchant, types } = filter;
      if (deviceHash !== undefined) add(byDevice, deviceHash, entry);
      else if (merchant !== undefined) add(byMerchant, merchant, entry);
      else if (types !== undefined) { for (const type of new Set(types)) add(byType, type, entry); }
      else others.push(entry);
    },
    matching(event) {
      const found: Listener[] = [];
      const { type, deviceHash = "", merchant = "" } = event;
      for (const list of [others, byType.get(type), byDevice.get(deviceHash), byMerchant.get(merchant)]) {
        for (const { filter, listener } of list ?? []) if (matches(filter, event)) found.push(listener);
      }
      return found;
    },
  };
}

function add<Item>(lists: Map<string, Item[]>, key: string, item: Item): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}

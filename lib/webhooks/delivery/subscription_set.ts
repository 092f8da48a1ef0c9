import type { Store } from "../../store/store.ts";
import { indexSubscriptions, type Listener, type SubscriptionIndex } from "./matching.ts";

const PAGE_SIZE = 1_000;

/** All subscriptions, in memory as far as matching needs them. */
export interface SubscriptionSet {
  /** The subscriptions there are now: whatever was inserted before this was called is in it. */
  current(): Promise<SubscriptionIndex>;
}

/** Reads all subscriptions again when their version has risen. */
export function createSubscriptionSet(
  store: Pick<Store, "subscriptionsVersion" | "listSubscriptions">,
): SubscriptionSet {
  let seenVersion: number | undefined;
  let index = indexSubscriptions([]);
  return {
    async current() {
      // Asked before reading: what is inserted meanwhile raises it again, and is read by the next call.
      const version = await store.subscriptionsVersion();
      if (version === seenVersion) return index;
      const listeners: Listener[] = [];
      let after: string | undefined;
      while (true) {
        const page = await store.listSubscriptions({ after, limit: PAGE_SIZE });
        for (const { id, startPosition, types, deviceHash, merchant } of page) {
          listeners.push({ id, startPosition, types, deviceHash, merchant });
        }
        if (page.length < PAGE_SIZE) break;
        after = page.at(-1)!.id;
      }
      index = indexSubscriptions(listeners);
      seenVersion = version;
      return index;
    },
  };
}

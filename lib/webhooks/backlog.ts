import { setImmediate as yieldToOthers } from "node:timers/promises";
import { MAX_COUNTED } from "../store/event.ts";
import type { Store } from "../store/store.ts";
import { filterOf, type StoredConsumer } from "../store/webhook.ts";

/** The pending deliveries of webhooks. */
export interface Backlog {
  /** Deliveries that wait in the log or for a retry. */
  pending: number;
  /** There are more: at most 10 000 are counted per subscription. */
  atLeast: boolean;
  /** The part of them that failed and wait for a retry. */
  retrying: number;
  /** Deliveries that the receiver rejected. */
  rejected: number;
  /** Deliveries that were given up. */
  dead: number;
  /** Subscriptions whose endpoint fails. Those held back because of their key do not count. */
  failing: number;
  /**
   * Since when the oldest is pending, Unix seconds: for an event in the log since it became known, for a retry since
   * its first failure. Null when there is none, apart from those held back because of their key.
   */
  oldestSince: number | null;
}

const CONSUMERS_PAGE = 500;
/** The backlog of one subscription. The cost does not grow with it. */
export async function backlogOf(
  { events, deliveries }: Pick<Store, "events" | "deliveries">,
  consumer: StoredConsumer,
  last: number,
): Promise<Backlog> {
  const { subscription, progress: { cursor, retrying, rejected, dead, failingSinceMs } } = consumer;
  const waits = { filter: filterOf(subscription), after: cursor, upTo: last };
  const [first] = cursor < last ? await events.read({ ...waits, order: "asc", limit: 1 }) : [];
  const waiting = first === undefined ? 0 : await events.count({ ...waits, limit: MAX_COUNTED });
  const oldest = { subscriptionId: subscription.id, state: "retrying" as const, limit: 1 };
  const [again] = retrying > 0 ? await deliveries.failed(oldest) : [];
  const failedAt = again === undefined ? Infinity : Math.floor(again.delivery.failedAtMs / 1_000);
  const oldestSince = Math.min(first?.knownAt ?? Infinity, failedAt);
  return {
    pending: waiting + retrying,
    atLeast: waiting === MAX_COUNTED,
    retrying,
    rejected,
    dead,
    failing: failingSinceMs === null ? 0 : 1,
    oldestSince: oldestSince === Infinity ? null : oldestSince,
  };
}

/** Whether a key is enabled. Deliveries of others are held back. */
type IsKeyEnabled = (keyId: string) => Promise<boolean>;

/** The backlog of all subscriptions. Costs a step per subscription, with pauses for other work. */
export async function backlogOfAll(
  store: Pick<Store, "events" | "deliveries">,
  isKeyEnabled: IsKeyEnabled,
): Promise<Backlog> {
  const all: Backlog = {
    pending: 0,
    atLeast: false,
    retrying: 0,
    rejected: 0,
    dead: 0,
    failing: 0,
    oldestSince: null,
  };
  const { last } = await store.events.bounds();
  let after: string | undefined;
  while (true) {
    const page = await store.deliveries.consumers({ after, limit: CONSUMERS_PAGE });
    for (const consumer of page) {
      const one = await backlogOf(store, consumer, last);
      all.pending += one.pending;
      all.atLeast ||= one.atLeast;
      all.retrying += one.retrying;
      all.rejected += one.rejected;
      all.dead += one.dead;
      const { failing, oldestSince } = one;
      if ((failing > 0 || oldestSince !== null) && await isKeyEnabled(consumer.subscription.keyId)) {
        all.failing += failing;
        if (oldestSince !== null) all.oldestSince = Math.min(oldestSince, all.oldestSince ?? Infinity);
      }
      await yieldToOthers();
    }
    if (page.length < CONSUMERS_PAGE) return all;
    after = page.at(-1)!.subscription.id;
  }
}

/** How many times its own duration a count is cached. So counting takes at most a tenth of the time. */
const HOLDS_TIMES = 10;

/** Returns a function that returns the backlog of all. Concurrent calls share a count, and a recent count is cached. */
export function createBacklog(
  store: Pick<Store, "events" | "deliveries">,
  isKeyEnabled: IsKeyEnabled,
  monotonicMs: () => number,
): () => Promise<Backlog> {
  let counted: Promise<Backlog> | undefined;
  let holdsUntil = -Infinity;

  async function count(): Promise<Backlog> {
    const startedAt = monotonicMs();
    holdsUntil = Infinity;
    try {
      const all = await backlogOfAll(store, isKeyEnabled);
      holdsUntil = monotonicMs() + HOLDS_TIMES * (monotonicMs() - startedAt);
      return all;
    } catch (cause) {
      holdsUntil = -Infinity;
      throw cause;
    }
  }

  return function backlog() {
    if (counted === undefined || monotonicMs() >= holdsUntil) counted = count();
    return counted;
  };
}

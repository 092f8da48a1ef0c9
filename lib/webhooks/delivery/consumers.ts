/*
 * Opens, updates and closes consumers, so that they match the stored subscriptions and this process's partitions.
 * `partitions.ts` decides which partitions are its own, and `consumer.ts` is one of them.
 */

import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { Clock } from "../../clock.ts";
import type { LoggedEvent } from "../../store/event.ts";
import type { Lease, Store } from "../../store/store.ts";
import { filterOf, partitionOf, type StoredConsumer } from "../../store/webhook.ts";
import { close as closeConsumer, type Consumer, openConsumer, renew } from "./consumer.ts";
import { REFRESH_MS } from "./eligibility.ts";
import { createMatcher } from "./matching.ts";
import type { Partitions } from "./partitions.ts";

/** The consumers of this process's partitions. */
export interface Consumers {
  all(): Iterable<Consumer>;
  isEmpty(): boolean;
  /** Whether all subscriptions are loaded. */
  isLoaded(): boolean;
  /**
   * Loads one subscription, or all if their version or a lease has changed. Opens consumers of new ones, updates
   * changed ones, and closes those that are deleted or another process's. Loads run one after the other.
   */
  load(subscriptionId?: string): Promise<void>;
  /** Loads all, unless that was done a moment ago. */
  refresh(): Promise<void>;
  get(subscriptionId: string): Consumer | undefined;
  matching(event: LoggedEvent): Iterable<Consumer>;
  /** Whether this process still holds the lease under which it was opened. */
  isOwn(consumer: Consumer): boolean;
  /** Closes the consumers of lost leases. If these lost none, closes them: the store has changed under them. */
  closeFenced(fenced: Consumer[]): void;
  /** Closes these. The next `load` opens them again if the store has them. */
  close(consumers: Iterable<Consumer>): void;
}

const PAGE = 500;

/** The last load: its version, its leases, and when it began (monotonic ms). */
interface Loaded {
  version: number | undefined;
  leases: (Lease | undefined)[];
  loadedAt: number;
}

const NOT_LOADED: Loaded = { version: undefined, leases: [], loadedAt: -Infinity };

export function createConsumers({ store, partitions, clock }: {
  store: Pick<Store, "deliveries" | "subscriptions">;
  partitions: Partitions;
  clock: Clock;
}): Consumers {
  const consumers = new Map<string, Consumer>();
  /** Ids to load; undefined stands for all. */
  const wanted = new Set<string | undefined>();
  let matcher = createMatcher<Consumer>();
  let loaded: Loaded = NOT_LOADED;
  let loading: Promise<void> | undefined;

  async function loadWanted(): Promise<void> {
    for (const id of wanted) {
      wanted.delete(id);
      if (id === undefined) await loadAll();
      else await loadOne(id);
    }
  }

  async function loadOne(id: string): Promise<void> {
    const leases = partitions.leases();
    const found = await store.deliveries.consumer(id);
    if (found !== undefined) update(found, leases);
    else if (consumers.has(id)) close([consumers.get(id)!]);
  }

  async function loadAll(): Promise<void> {
    const loadedAt = clock.monotonicMs();
    const leases = partitions.leases();
    const version = await store.subscriptions.version();
    const isNew = version !== loaded.version || leases.some((lease, partition) => lease !== loaded.leases[partition]);
    if (isNew) {
      // If the store fails from here on, the next load is a full one.
      loaded = NOT_LOADED;
      const there = await updateAll();
      for (const consumer of [...consumers.values()]) {
        if (!there.has(consumer.subscription.id) || !isOwn(consumer)) close([consumer]);
      }
      matcher = createMatcher();
      for (const consumer of consumers.values()) matcher.add(filterOf(consumer.subscription), consumer);
    }
    loaded = { version, leases, loadedAt };
  }

  async function updateAll(): Promise<Set<string>> {
    const there = new Set<string>();
    let after: string | undefined;
    while (true) {
      const leases = partitions.leases();
      const page = await store.deliveries.consumers({ after, limit: PAGE });
      for (const found of page) {
        there.add(found.subscription.id);
        update(found, leases);
      }
      if (page.length < PAGE) return there;
      after = page.at(-1)!.subscription.id;
      await yieldToOthers();
    }
  }

  /** @param leases from before the read: a holder in between may have changed the row */
  function update(found: StoredConsumer, leases: (Lease | undefined)[]): void {
    const { subscription } = found;
    const partition = partitionOf(subscription.id);
    const lease = partitions.lease(partition);
    if (lease === undefined || lease !== leases[partition]) return;
    let consumer = consumers.get(subscription.id);
    if (consumer !== undefined && !isOwn(consumer)) {
      close([consumer]);
      consumer = undefined;
    }
    if (consumer === undefined) {
      consumer = openConsumer(found, partition, lease);
      consumers.set(subscription.id, consumer);
      matcher.add(filterOf(consumer.subscription), consumer);
    } else {
      renew(consumer, found);
    }
  }

  const isOwn = ({ partition, lease }: Consumer) => partitions.lease(partition) === lease;

  function close(closed: Iterable<Consumer>): void {
    for (const consumer of closed) {
      closeConsumer(consumer);
      if (consumers.get(consumer.subscription.id) === consumer) consumers.delete(consumer.subscription.id);
    }
  }

  function closeAll(closed: Iterable<Consumer>): void {
    close([...closed]);
    loaded = NOT_LOADED;
  }

  async function load(subscriptionId?: string): Promise<void> {
    wanted.add(subscriptionId);
    loading ??= loadWanted().finally(() => loading = undefined);
    await loading;
  }

  return {
    all: () => consumers.values(),
    isEmpty: () => consumers.size === 0,
    isLoaded: () => loaded !== NOT_LOADED,
    load,
    async refresh() {
      if (clock.monotonicMs() - loaded.loadedAt >= REFRESH_MS) await load();
    },
    get: (subscriptionId) => consumers.get(subscriptionId),
    matching: (event) => matcher.matching(event),
    isOwn,
    closeFenced(fenced) {
      if (fenced.every(isOwn)) closeAll(fenced);
      closeAll([...consumers.values()].filter((consumer) => !isOwn(consumer)));
    },
    close: closeAll,
  };
}

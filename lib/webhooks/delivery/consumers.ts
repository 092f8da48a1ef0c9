/*
 * Opens, updates and closes consumers, so that they match the stored subscriptions and this process's partitions.
 * `partitions.ts` decides which partitions are its own, and `consumer.ts` is one of them.
 */

import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { Clock } from "../../clock.ts";
import type { Lease, Store } from "../../store/store.ts";
import { partitionOf, type StoredConsumer } from "../../store/webhook.ts";
import { become, type Consumer, openConsumer, renew } from "./consumer.ts";
import { REFRESH_MS } from "./eligibility.ts";
import type { Partitions } from "./partitions.ts";

const PAGE = 500;

/** The consumers of this process's partitions. */
export function createConsumers({ store, partitions, clock }: {
  store: Pick<Store, "deliveries" | "subscriptions">;
  partitions: Partitions;
  clock: Pick<Clock, "monotonicMs">;
}) {
  const consumers = new Map<string, Consumer>();
  /** Ids to load; undefined stands for all. */
  const wanted = new Set<string | undefined>();
  /** The version and leases of the last load, and when it began (monotonic ms). Undefined when all have to be loaded. */
  let loaded: { version: number; leases: (Lease | undefined)[]; atMs: number } | undefined;
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
    const leases = partitions.leases();
    const atMs = clock.monotonicMs();
    const version = await store.subscriptions.version();
    const before = loaded;
    if (version !== before?.version || leases.some((lease, partition) => lease !== before.leases[partition])) {
      // If the store fails from here on, the next load is a full one.
      loaded = undefined;
      const there = await updateAll();
      for (const consumer of [...consumers.values()]) {
        if (!there.has(consumer.subscription.id) || !isOwn(consumer)) close([consumer]);
      }
    }
    loaded = { version, leases, atMs };
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
    } else {
      renew(consumer, found);
    }
  }

  /**
   * Loads one subscription, or all if their version or a lease has changed. Opens consumers of new ones, updates changed
   * ones, and closes those that are deleted or another process's. Loads run one after the other.
   */
  async function load(subscriptionId?: string): Promise<void> {
    wanted.add(subscriptionId);
    loading ??= loadWanted().finally(() => loading = undefined);
    await loading;
  }

  const isOwn = ({ partition, lease }: Consumer) => partitions.lease(partition) === lease;

  function close(closed: Iterable<Consumer>): void {
    for (const consumer of closed) {
      become(consumer, { state: "closed" });
      if (consumers.get(consumer.subscription.id) === consumer) consumers.delete(consumer.subscription.id);
    }
  }

  function closeAll(closed: Iterable<Consumer>): void {
    close([...closed]);
    loaded = undefined;
  }

  return {
    all: () => consumers.values(),
    isEmpty: () => consumers.size === 0,
    /** Whether all subscriptions are loaded. */
    isLoaded: () => loaded !== undefined,
    load,
    /** Loads all, unless that was done a moment ago. */
    async refresh(): Promise<void> {
      if (loaded === undefined || clock.monotonicMs() - loaded.atMs >= REFRESH_MS) await load();
    },
    get: (subscriptionId: string) => consumers.get(subscriptionId),
    /** Whether this process still holds the lease under which it was opened. */
    isOwn,
    /** Closes the consumers of lost leases. If these lost none, closes them: the store has changed under them. */
    closeFenced(fenced: Consumer[]): void {
      if (fenced.every(isOwn)) closeAll(fenced);
      closeAll([...consumers.values()].filter((consumer) => !isOwn(consumer)));
    },
    /** Closes these. The next `load` opens them again if the store has them. */
    close: closeAll,
  };
}

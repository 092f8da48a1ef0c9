/*
 * Decides which partitions of subscriptions this process delivers to, by leases: all, or an even share of a shared
 * store. `consumers.ts` opens the consumers of a partition, and `worker.ts` gives up what is not busy.
 */

import type { Clock } from "../../clock.ts";
import type { Lease, Store } from "../../store/store.ts";
import { partitionLease, PARTITIONS } from "../../store/webhook.ts";

/** With `LOOK_MS`, this lets another process take over a dead one's partitions in under 15 s. */
const LEASE_MS = 10_000;
const LOOK_MS = 2_500;
/** While a partition to release is busy. */
const LEAVING_MS = 500;

/** The shared state in which each worker announces itself, until when by the store's clock. */
const WORKERS = "workers";
type Workers = Record<string, number>;

interface Held {
  lease: Lease;
  /** Monotonic ms. */
  trustedUntil: number;
  isLeaving: boolean;
}

/**
 * Keeps leases on all partitions, or on an even share when several gateways use the store. Workers announce themselves
 * in the store, and each releases what is beyond its share.
 */
export function createPartitions(
  { leases: store, sharedState, isShared }: Pick<Store, "leases" | "sharedState" | "isShared">,
  clock: Clock,
  holder: string,
) {
  const held = new Map<number, Held>();
  const cameAt = clock.monotonicMs();
  let isCounted = false;

  async function renew(): Promise<void> {
    // The lease counts from the attempt, because the answer may come late.
    const trustedUntil = clock.monotonicMs() + LEASE_MS;
    const asked = [...held];
    const renewed = new Set(
      (await store.renew(asked.map(([, { lease }]) => lease), LEASE_MS)).map(({ name }) => name),
    );
    for (const [partition, one] of asked) {
      // Lost and acquired again meanwhile: this answer is about the former lease.
      if (held.get(partition) !== one) continue;
      if (renewed.has(one.lease.name)) one.trustedUntil = trustedUntil;
      else held.delete(partition);
    }
  }

  /**
   * Announces this worker and returns the size of its share. Among others it counts only after a lease's time, so a
   * process that keeps crashing takes no share.
   */
  async function share(): Promise<number> {
    if (!isShared) return PARTITIONS;
    const mayCount = isCounted || clock.monotonicMs() - cameAt >= LEASE_MS;
    const workers = await sharedState.change(WORKERS, (before: Workers | undefined, nowMs) => {
      // An entry further ahead was written before the clock was set back.
      const isThere = (untilMs: number) => untilMs > nowMs && untilMs <= nowMs + 2 * LEASE_MS;
      const there = Object.fromEntries(Object.entries(others(before)).filter(([, untilMs]) => isThere(untilMs)));
      const counts = mayCount || Object.keys(there).length === 0;
      const value = counts ? { ...there, [holder]: nowMs + LEASE_MS } : undefined;
      return { value, keepMs: LEASE_MS, answer: Object.keys(value ?? there).sort() };
    });
    isCounted = workers.includes(holder);
    if (!isCounted) return 0;
    const rest = PARTITIONS % workers.length;
    return Math.floor(PARTITIONS / workers.length) + (workers.indexOf(holder) < rest ? 1 : 0);
  }

  function others(workers: Workers = {}): Workers {
    const { [holder]: _own, ...rest } = workers;
    return rest;
  }

  async function acquire(most: number): Promise<void> {
    for (let partition = 0; partition < PARTITIONS && held.size < most; partition++) {
      if (held.has(partition)) continue;
      const trustedUntil = clock.monotonicMs() + LEASE_MS;
      const lease = await store.acquire({ name: partitionLease(partition), holder, durationMs: LEASE_MS });
      if (lease === undefined) continue;
      held.set(partition, { lease, trustedUntil, isLeaving: false });
    }
  }

  async function giveBackLeaving(isBusy: (partition: number) => boolean): Promise<void> {
    const idle = [...held].filter(([partition, { isLeaving }]) => isLeaving && !isBusy(partition));
    if (idle.length === 0) return;
    for (const [partition] of idle) held.delete(partition);
    await store.release(idle.map(([, { lease }]) => lease));
  }

  return {
    /**
     * Renews leases and acquires free ones, up to this process's share. Releases partitions beyond the share once they
     * are not busy. Returns how long to wait until the next call, in milliseconds.
     */
    async keep(isBusy: (partition: number) => boolean): Promise<number> {
      if (held.size > 0) await renew();
      const most = await share();
      [...held.values()].forEach((one, place) => one.isLeaving = place >= most);
      await acquire(most);
      await giveBackLeaving(isBusy);
      return held.size > most ? LEAVING_MS : LOOK_MS;
    },
    /** Whether posts to it may start: its lease is held, not about to be released, and was renewed in time. */
    holds(partition: number): boolean {
      const found = held.get(partition);
      return found !== undefined && !found.isLeaving && clock.monotonicMs() < found.trustedUntil;
    },
    /** Its lease, unless lost. Another object after each change of hands. */
    lease: (partition: number) => held.get(partition)?.lease,
    /** The leases of all partitions. */
    leases: () => Array.from({ length: PARTITIONS }, (_, partition) => held.get(partition)?.lease),
    /** Renews all leases at once, to find lost ones after a fenced write. */
    async recheck(): Promise<void> {
      if (held.size > 0) await renew();
    },
    /** Releases all leases. */
    async release(): Promise<void> {
      const own = [...held.values()].map(({ lease }) => lease);
      held.clear();
      if (own.length > 0) await store.release(own);
      if (!isShared) return;
      await sharedState.change(WORKERS, (workers: Workers | undefined) => {
        return { value: others(workers), keepMs: LEASE_MS, answer: undefined };
      });
    },
  };
}

export type Partitions = ReturnType<typeof createPartitions>;

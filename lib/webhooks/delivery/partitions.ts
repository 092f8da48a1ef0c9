import type { Clock } from "../../clock.ts";
import { createLoop, type Loop } from "../../loop.ts";
import type { Lease, Store } from "../../store/store.ts";
import { partitionLease, PARTITIONS } from "../../store/webhook.ts";

/** The partitions of subscriptions that this process delivers to. */
export interface Partitions {
  /**
   * Renews what is held and acquires what is free, up to this process's share; what is beyond the share is given back as
   * soon as it is not busy. Returns how long to rest until it is called again, in milliseconds.
   */
  keep(isBusy: (partition: number) => boolean): Promise<number>;
  /** Whether new posts may be made for it: it is held, not about to be given back, and was renewed lately enough. */
  holds(partition: number): boolean;
  /** Its lease, while that is not known to be lost; another one after each change of hands. */
  lease(partition: number): Lease | undefined;
  /** The same of each partition. */
  leases(): (Lease | undefined)[];
  /** Renews at once what is held, to find what is lost: a write was fenced off. */
  recheck(): Promise<void>;
  /** Gives all back. */
  release(): Promise<void>;
}

/** With the time between two looks this is how soon a dead process's partitions are taken over: in under 15 s. */
const LEASE_MS = 10_000;
const LOOK_MS = 2_500;
/** While a partition that is to be given back is busy. */
const LEAVING_MS = 500;

/** The register in which workers say that they are there: until when each is believed to be, by the store's clock. */
const WORKERS = "workers";
type Workers = Record<string, number>;

interface Held {
  lease: Lease;
  /** Monotonic ms. */
  trustedUntil: number;
  isLeaving: boolean;
}

/**
 * Keeps leases on partitions: on all of them where one gateway has the store for itself, else on an even share. Workers
 * tell one another in the store that they are there; each holds no more than its part of the number, so that what is too
 * much for one becomes free for another.
 */
export function createPartitions(
  { leases: store, sharedState, isShared }: Pick<Store, "leases" | "sharedState" | "isShared">,
  clock: Clock,
  holder: string,
): Partitions {
  const held = new Map<number, Held>();
  const cameAt = clock.monotonicMs();
  let isCounted = false;

  async function renew(): Promise<void> {
    // Trust begins at the attempt: the answer may come late.
    const trustedUntil = clock.monotonicMs() + LEASE_MS;
    const asked = [...held];
    const renewed = new Set(
      (await store.renew(asked.map(([, { lease }]) => lease), LEASE_MS)).map(({ name }) => name),
    );
    for (const [partition, one] of asked) {
      // Lost and acquired again while this was on its way: it says nothing of the lease that is held now.
      if (held.get(partition) !== one) continue;
      if (renewed.has(one.lease.name)) one.trustedUntil = trustedUntil;
      else held.delete(partition);
    }
  }

  /**
   * Says that this worker is there; answers how many partitions are its share. Where others are, it counts only after as
   * long as it would be believed in if it died: one that dies again and again as soon as it has come leaves them their shares.
   */
  async function share(): Promise<number> {
    if (!isShared) return PARTITIONS;
    const mayCount = isCounted || clock.monotonicMs() - cameAt >= LEASE_MS;
    const workers = await sharedState.change(WORKERS, (before: Workers | undefined, nowMs) => {
      // One that is there for longer than it could have said is of a clock that was set back since.
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
    async keep(isBusy) {
      if (held.size > 0) await renew();
      const most = await share();
      [...held.values()].forEach((one, place) => one.isLeaving = place >= most);
      await acquire(most);
      await giveBackLeaving(isBusy);
      return held.size > most ? LEAVING_MS : LOOK_MS;
    },
    holds(partition) {
      const found = held.get(partition);
      return found !== undefined && !found.isLeaving && clock.monotonicMs() < found.trustedUntil;
    },
    lease: (partition) => held.get(partition)?.lease,
    leases: () => Array.from({ length: PARTITIONS }, (_, partition) => held.get(partition)?.lease),
    async recheck() {
      if (held.size > 0) await renew();
    },
    async release() {
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

/** Keeps leases in a loop of its own: it waits for nothing but the leases. @param parts.onChange what is held has changed */
export function createLeaseLoop(
  partitions: Partitions,
  { clock, isBusy, onChange, onProblem }: {
    clock: Clock;
    isBusy(partition: number): boolean;
    onChange(): void;
    onProblem(message: string, cause: unknown): void;
  },
): Loop {
  return createLoop({
    async step() {
      const before = partitions.leases();
      const restMs = await partitions.keep(isBusy);
      if (partitions.leases().some((lease, partition) => lease !== before[partition])) onChange();
      return restMs;
    },
    wait: clock.wait,
    onProblem: (cause) => onProblem("leases cannot be renewed; trying on", cause),
  });
}

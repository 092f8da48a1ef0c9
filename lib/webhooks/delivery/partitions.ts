import type { Clock } from "../../clock.ts";
import type { Lease, Store } from "../../store/store.ts";
import { partitionLease, PARTITIONS } from "../../store/webhook.ts";

/** The partitions of subscriptions that this process delivers to. */
export interface Partitions {
  /** Acquires what is free and prolongs what is held, when it is time to. Answers whether what is held has changed. */
  keep(): Promise<boolean>;
  /** Whether it is held, and has been prolonged lately enough to be trusted. */
  holds(partition: number): boolean;
  /** The leases of these partitions, those that are held. */
  leases(partitions: Iterable<number>): Lease[];
  /** Looks at once which of those held are still one's own: a write was fenced off. */
  recheck(): Promise<void>;
  /** Gives all back. */
  release(): Promise<void>;
}

/** A dead process's partitions are taken over after so long. */
const LEASE_MS = 15_000;
const RENEW_MS = 5_000;

export function createPartitions({ leases: store }: Pick<Store, "leases">, clock: Clock, holder: string): Partitions {
  const held = new Map<number, { lease: Lease; trustedUntil: number }>();
  let keptAt = -Infinity;

  async function renew(): Promise<boolean> {
    // Trust begins at the attempt: the answer may come late.
    const trustedUntil = clock.monotonicMs() + LEASE_MS;
    const renewed = new Set(
      (await store.renew([...held.values()].map(({ lease }) => lease), LEASE_MS)).map(({ name }) => name),
    );
    let changed = false;
    for (const [partition, { lease }] of held) {
      if (renewed.has(lease.name)) held.set(partition, { lease, trustedUntil });
      else changed = held.delete(partition);
    }
    return changed;
  }

  async function acquire(): Promise<boolean> {
    let changed = false;
    for (let partition = 0; partition < PARTITIONS; partition++) {
      if (held.has(partition)) continue;
      const trustedUntil = clock.monotonicMs() + LEASE_MS;
      const lease = await store.acquire({ name: partitionLease(partition), holder, durationMs: LEASE_MS });
      if (lease === undefined) continue;
      held.set(partition, { lease, trustedUntil });
      changed = true;
    }
    return changed;
  }

  return {
    async keep() {
      if (clock.monotonicMs() - keptAt < RENEW_MS) return false;
      keptAt = clock.monotonicMs();
      const lost = held.size > 0 && await renew();
      const gained = await acquire();
      return lost || gained;
    },
    holds(partition) {
      const found = held.get(partition);
      return found !== undefined && clock.monotonicMs() < found.trustedUntil;
    },
    leases: (partitions) => [...new Set(partitions)].flatMap((partition) => held.get(partition)?.lease ?? []),
    async recheck() {
      keptAt = -Infinity;
      if (held.size > 0) await renew();
    },
    async release() {
      const own = [...held.values()].map(({ lease }) => lease);
      held.clear();
      if (own.length > 0) await store.release(own);
    },
  };
}

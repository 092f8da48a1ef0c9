import type { KvEntryMaybe } from "../../runtime/kv.ts";
import type { ConsumerEntry } from "./schema.ts";

const MAX_CONSUMERS = 10_000;

/**
 * Caches the consumers that this handle wrote last, so that a write need not read them first. Every change of a consumer also
 * writes the lease of its partition, or the consumers' version. While both are unchanged, the cached consumers are current.
 */
export interface ConsumerCache {
  has(subscriptionId: string): boolean;
  /** Takes a consumer out of the cache, for a change. */
  take(subscriptionId: string): ConsumerEntry | undefined;
  /** Empties the cache unless the leases and the version are unchanged. */
  compare(entries: KvEntryMaybe<unknown>[]): void;
  /** Caches consumers that were written together with these leases. */
  keep(consumers: Iterable<[string, ConsumerEntry]>, leases: KvEntryMaybe<unknown>[], versionstamp: string): void;
}

export function createConsumerCache(): ConsumerCache {
  const consumers = new Map<string, ConsumerEntry>();
  const versionstamps = new Map<string, string | null>();
  const nameOf = ({ key }: KvEntryMaybe<unknown>) => key.join(" ");

  return {
    has: (subscriptionId) => consumers.has(subscriptionId),
    take(subscriptionId) {
      const consumer = consumers.get(subscriptionId);
      consumers.delete(subscriptionId);
      return consumer;
    },
    compare(entries) {
      for (const entry of entries) {
        if (versionstamps.get(nameOf(entry)) !== entry.versionstamp) consumers.clear();
        versionstamps.set(nameOf(entry), entry.versionstamp);
      }
    },
    keep(written, leases, versionstamp) {
      if (consumers.size > MAX_CONSUMERS) consumers.clear();
      for (const [subscriptionId, consumer] of written) consumers.set(subscriptionId, consumer);
      for (const lease of leases) versionstamps.set(nameOf(lease), versionstamp);
    },
  };
}

import type { KvEntryMaybe } from "../../runtime/kv.ts";
import type { ConsumerEntry } from "./schema.ts";

const MAX_CONSUMERS = 10_000;

/**
 * Consumers as this handle wrote them last, so that not each has to be read before it is written again. Whoever changes one
 * writes the lease of its partition or the consumers' version: as long as these are as they were left, so are the consumers.
 */
export interface ConsumerCache {
  has(subscriptionId: string): boolean;
  /** Hands a consumer out, to be changed: it is kept no more. */
  take(subscriptionId: string): ConsumerEntry | undefined;
  /** Forgets all unless the leases and the version are as they were left. */
  compare(entries: KvEntryMaybe<unknown>[]): void;
  /** Keeps consumers that were written together with these leases. */
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

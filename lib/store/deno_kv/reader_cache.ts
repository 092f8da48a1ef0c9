import type { KvEntryMaybe } from "../../runtime/kv.ts";
import type { ReaderEntry } from "./schema.ts";

const MAX_READERS = 10_000;

/**
 * Readers as this handle wrote them last, so that not each has to be read before it is written again. Whoever changes one
 * writes the lease of its partition or the readers' version: as long as these are as they were left, so are the readers.
 */
export interface ReaderCache {
  has(subscriptionId: string): boolean;
  /** Hands a reader out, to be changed: it is kept no more. */
  take(subscriptionId: string): ReaderEntry | undefined;
  /** Forgets all unless the leases and the version are as they were left. */
  compare(entries: KvEntryMaybe<unknown>[]): void;
  /** Keeps readers that were written together with these leases. */
  keep(readers: Iterable<[string, ReaderEntry]>, leases: KvEntryMaybe<unknown>[], versionstamp: string): void;
}

export function createReaderCache(): ReaderCache {
  const readers = new Map<string, ReaderEntry>();
  const versionstamps = new Map<string, string | null>();
  const nameOf = ({ key }: KvEntryMaybe<unknown>) => key.join(" ");

  return {
    has: (subscriptionId) => readers.has(subscriptionId),
    take(subscriptionId) {
      const reader = readers.get(subscriptionId);
      readers.delete(subscriptionId);
      return reader;
    },
    compare(entries) {
      for (const entry of entries) {
        if (versionstamps.get(nameOf(entry)) !== entry.versionstamp) readers.clear();
        versionstamps.set(nameOf(entry), entry.versionstamp);
      }
    },
    keep(written, leases, versionstamp) {
      if (readers.size > MAX_READERS) readers.clear();
      for (const [subscriptionId, reader] of written) readers.set(subscriptionId, reader);
      for (const lease of leases) versionstamps.set(nameOf(lease), versionstamp);
    },
  };
}

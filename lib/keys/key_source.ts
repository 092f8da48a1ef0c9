import type { KeyRecord, Store } from "../store/store.ts";
import { KeyRecordsError, parseKeyRecords } from "./key_record.ts";

/** The keys of a running gateway. */
export interface KeySource {
  /** Location of the keys, for people. */
  readonly location: string;
  /** The key with this id, undefined for none. Rejects when the source is unreadable. */
  get(id: string): Promise<KeyRecord | undefined>;
  /** Whether the source has no key. */
  isEmpty(): Promise<boolean>;
  /** Whether any key may have changed since the last call; true at the first call. Rejects when the source is unreadable. */
  changed(): Promise<boolean>;
  /** Stores the last use of keys, at most 500 at once, where the source supports it. */
  touch(uses: KeyUse[]): Promise<void>;
  close(): Promise<void>;
}

export interface KeyUse {
  id: string;
  /** ISO 8601 UTC. */
  lastUsedAt: string;
}

/** Keys from the store, which the caller closes. */
export function keySourceFromStore(
  store: Pick<Store, "location" | "keys">,
): KeySource {
  let seenVersion: number | undefined;
  return {
    location: store.location,
    get: (id) => store.keys.get(id),
    async isEmpty() {
      return (await store.keys.list({ limit: 1 })).length === 0;
    },
    async changed() {
      const version = await store.keys.version();
      const isNew = version !== seenVersion;
      seenVersion = version;
      return isNew;
    },
    touch: (uses) => store.keys.touch(uses),
    async close() {},
  };
}

/**
 * Keys from the text of `SERVICE_API_KEYS`. They never change while the gateway runs, and their use is not stored.
 * @throws {KeyRecordsError} with setting, record and field
 */
export function keySourceFromText(text: string): KeySource {
  const records = new Map(recordsOf(text).map((record) => [record.id, record]));
  let asked = false;
  return {
    location: "SERVICE_API_KEYS",
    get: (id) => Promise.resolve(records.get(id)),
    isEmpty: () => Promise.resolve(records.size === 0),
    changed() {
      const isFirst = !asked;
      asked = true;
      return Promise.resolve(isFirst);
    },
    async touch() {},
    async close() {},
  };
}

function recordsOf(text: string): KeyRecord[] {
  try {
    return parseKeyRecords(text);
  } catch (error) {
    throw error instanceof KeyRecordsError ? new KeyRecordsError(`SERVICE_API_KEYS: ${error.message}`) : error;
  }
}

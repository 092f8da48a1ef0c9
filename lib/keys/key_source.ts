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
  /** Another number than before when any key may have changed. Rejects when the source is unreadable. */
  version(): Promise<number>;
  /** Stores the last use of keys, at most 500 at once, where the source supports it. */
  touch(uses: KeyUse[]): Promise<void>;
}

export interface KeyUse {
  id: string;
  /** ISO 8601 UTC. */
  lastUsedAt: string;
}

/** Keys from the store, which the caller closes. */
export function keySourceFromStore({ location, keys }: Pick<Store, "location" | "keys">): KeySource {
  return {
    location,
    get: (id) => keys.get(id),
    isEmpty: async () => (await keys.list({ limit: 1 })).length === 0,
    version: () => keys.version(),
    touch: (uses) => keys.touch(uses),
  };
}

/**
 * Keys from the text of `SERVICE_API_KEYS`. They never change while the gateway runs, and their use is not stored.
 * @throws {KeyRecordsError} with setting, record and field
 */
export function keySourceFromText(text: string): KeySource {
  const records = new Map(recordsOf(text).map((record) => [record.id, record]));
  return {
    location: "SERVICE_API_KEYS",
    get: (id) => Promise.resolve(records.get(id)),
    isEmpty: () => Promise.resolve(records.size === 0),
    version: () => Promise.resolve(0),
    async touch() {},
  };
}

function recordsOf(text: string): KeyRecord[] {
  try {
    return parseKeyRecords(text);
  } catch (error) {
    throw error instanceof KeyRecordsError ? new KeyRecordsError(`SERVICE_API_KEYS: ${error.message}`) : error;
  }
}

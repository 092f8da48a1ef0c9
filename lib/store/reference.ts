import type { LoggedEvent } from "./event.ts";

/** The reference with which an API key prepared a transaction. */
export interface GivenReference {
  /** Hash of the inner transaction, or of a fee bump around it. */
  hash: string;
  keyId: string;
  /** The client's own name of the transaction. */
  reference: string;
  preparedAtMs: number;
}

/** The place of a record in the list of all. */
export type ReferencePlace = Omit<GivenReference, "reference">;

export interface ReferenceQuery {
  keyId: string;
  reference: string;
  order: "asc" | "desc";
  /** The last record of the page before. */
  after?: Pick<GivenReference, "preparedAtMs" | "hash">;
  limit: number;
}

export interface ReferenceStore {
  /** Records what a key gave for a transaction. The first record of a hash and a key stays. Durable when it resolves. */
  record(given: GivenReference): Promise<void>;
  /** Records what all keys gave for a transaction under the hash of a fee bump, too. Durable when it resolves. */
  copy(hash: string, bumpHash: string): Promise<void>;
  /** Whether there is a record. The cost does not grow with the number of records. */
  isAny(): Promise<boolean>;
  /** The records of these transactions (at most 1 000 hashes), of all keys, in no order. */
  find(hashes: string[]): Promise<GivenReference[]>;
  /**
   * The references that a key gave for these transactions (at most 1 000 hashes), by hash, with one `find`. While a store that is not shared has
   * no reference, it reads nothing.
   */
  ofKey(keyId: string, hashes: string[]): Promise<Map<string, string>>;
  /** At most `limit` (≤ 1 000) records of a key with this reference, by time and hash. The cost depends on `limit` only. */
  ofReference(query: ReferenceQuery): Promise<GivenReference[]>;
  /** At most `limit` (≤ 1 000) ids of the API keys that gave this reference, ascending. The cost depends on `limit` only. */
  keysOf(query: Pick<ReferenceQuery, "reference" | "limit">): Promise<string[]>;
  /**
   * Sets the references of events of the log (at most 1 000), with one `find`. While the store has no reference, it reads
   * nothing. A shared store is asked once for new events.
   */
  attach(events: LoggedEvent[]): Promise<void>;
  /**
   * Every record from before `preparedBeforeMs`, or every one: at most `limit` (≤ 500) after the one of `after`, ascending by
   * time, hash and key.
   */
  list(page: { after?: ReferencePlace; preparedBeforeMs?: number; limit: number }): Promise<GivenReference[]>;
  /** Deletes these records, at most 500. */
  delete(records: GivenReference[]): Promise<void>;
  /** Deletes at most 500 records from before this time. Returns their number. */
  prune(preparedBeforeMs: number): Promise<number>;
}

/** The part of a driver. */
export type ReferenceRows = Omit<ReferenceStore, "attach" | "ofKey">;

/**
 * Adds `attach` and `ofKey`. A client stores its reference before it has the envelope. So when there is no reference now, no event that is
 * already in the log has one.
 */
export function withAttach(rows: ReferenceRows, isShared: boolean): ReferenceStore {
  let isAny = false;
  /** No event up to this sequence has a reference. */
  let noneUpTo = 0;

  async function mayHave(events: LoggedEvent[]): Promise<boolean> {
    const upTo = events.reduce((most, { sequence }) => Math.max(most, sequence), 0);
    if (isAny || upTo <= noneUpTo) return isAny;
    // Another gateway may store the first one.
    if (!await rows.isAny()) noneUpTo = isShared ? Math.max(noneUpTo, upTo) : Infinity;
    else isAny = true;
    return isAny;
  }

  async function areNone(): Promise<boolean> {
    if (!isShared && !isAny && noneUpTo !== Infinity) {
      if (await rows.isAny()) isAny = true;
      else noneUpTo = Infinity;
    }
    return !isAny && noneUpTo === Infinity;
  }

  return {
    ...rows,
    async ofKey(keyId, hashes) {
      if (hashes.length === 0 || await areNone()) return new Map();
      const found = await rows.find([...new Set(hashes)]);
      return new Map(found.filter((given) => given.keyId === keyId).map(({ hash, reference }) => [hash, reference]));
    },
    record(given) {
      isAny = true;
      return rows.record(given);
    },
    async attach(events) {
      if (events.length === 0 || !await mayHave(events)) return;
      const found = await rows.find([...new Set(events.map(({ txHash }) => txHash))]);
      const byHash = Map.groupBy(found, ({ hash }) => hash);
      for (const event of events) {
        const given = byHash.get(event.txHash);
        if (given !== undefined) event.references = new Map(given.map(({ keyId, reference }) => [keyId, reference]));
      }
    },
  };
}

import type { xdr } from "@stellar/stellar-sdk";

/** One ledger entry as it is held: encoded, with its time to live beside it. */
export interface StateEntry {
  /** LedgerEntry. */
  entryXdr: Uint8Array;
  /** Last ledger it lives in; undefined for entries without a TTL. */
  liveUntilLedger?: number;
  /** Ledger in which the TTL was changed last. */
  ttlModifiedLedger?: number;
  /** An account that was looked at, decoded, until it changes: a transaction looks its source up again and again. */
  account?: xdr.AccountEntry | undefined;
}

/** Something entries can be read from. Keys are `keyOf(LedgerKey)`. */
export interface LedgerView {
  get(key: string): StateEntry | undefined;
}

/** Changes on top of a view, seen through it, kept apart until they are committed. */
export interface LedgerChanges extends LedgerView {
  put(key: string, entry: StateEntry): void;
  remove(key: string): void;
  /** The entry underneath, without these changes. */
  before(key: string): StateEntry | undefined;
  /** What was changed, in order of the first change; undefined: removed. */
  entries(): IterableIterator<[string, StateEntry | undefined]>;
  /** Moves the changes into the parent. */
  commitTo(parent: LedgerChanges): void;
}

/** Opens changes on top of `parent`, which must not be changed while they are open. */
export function openChanges(parent: LedgerView): LedgerChanges {
  const changed = new Map<string, StateEntry | undefined>();
  return {
    get: (key) => changed.has(key) ? changed.get(key) : parent.get(key),
    before: (key) => parent.get(key),
    put: (key, entry) => void changed.set(key, entry),
    remove(key) {
      changed.set(key, undefined);
    },
    entries: () => changed.entries(),
    commitTo(target) {
      for (const [key, entry] of changed) {
        if (entry) target.put(key, entry);
        else target.remove(key);
      }
    },
  };
}

/** How long an expired entry stays where it was before it is evicted; the real network's scan takes about as long. */
export const EVICTION_DELAY_LEDGERS = 64;

const CONTRACT_DATA = 6;

/** Whether a LedgerKey (as `keyOf`) names a temporary contract data entry: its durability is its last word. */
export function isTemporary(key: string): boolean {
  return key.charCodeAt(3) === CONTRACT_DATA && key.charCodeAt(key.length - 1) === 0;
}

export type LedgerState = ReturnType<typeof createLedgerState>;

/** The closed ledger: every entry in one Map, and the temporary ones by the ledger they expire after. */
export function createLedgerState() {
  const entries = new Map<string, StateEntry>();
  const temporaryByExpiry = new Map<number, Set<string>>();

  function forgetExpiry(key: string, entry: StateEntry | undefined) {
    if (entry?.liveUntilLedger === undefined || !isTemporary(key)) return;
    const keys = temporaryByExpiry.get(entry.liveUntilLedger);
    keys?.delete(key);
    if (keys?.size === 0) temporaryByExpiry.delete(entry.liveUntilLedger);
  }

  function rememberExpiry(key: string, entry: StateEntry) {
    if (entry.liveUntilLedger === undefined || !isTemporary(key)) return;
    const keys = temporaryByExpiry.get(entry.liveUntilLedger);
    if (keys) keys.add(key);
    else temporaryByExpiry.set(entry.liveUntilLedger, new Set([key]));
  }

  return {
    get: (key: string) => entries.get(key),
    /** Makes the changes of a closed ledger the state. */
    commit(changes: LedgerChanges) {
      for (const [key, entry] of changes.entries()) {
        forgetExpiry(key, entries.get(key));
        if (entry) {
          entry.account = undefined; // What is decoded would outweigh the entry itself, for every account there is.
          entries.set(key, entry);
          rememberExpiry(key, entry);
        } else {
          entries.delete(key);
        }
      }
    },
    /** Keys of the temporary entries that are to go when this ledger closes. */
    evictable(ledgerSequence: number): string[] {
      return [...temporaryByExpiry.get(ledgerSequence - EVICTION_DELAY_LEDGERS) ?? []];
    },
    /** Puts an entry in as it was, at start. */
    restore(key: string, entry: StateEntry) {
      entries.set(key, entry);
      rememberExpiry(key, entry);
    },
  };
}

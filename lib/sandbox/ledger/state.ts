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

/** Entries in one Map, and the temporary ones by the ledger they expire after. */
interface Layer {
  /** Undefined stands for an entry that is known not to be there. */
  entries: Map<string, StateEntry | undefined>;
  /** May name entries that have been changed in a layer above. */
  temporaryByExpiry: Map<number, Set<string>>;
}

const newLayer = (): Layer => ({ entries: new Map(), temporaryByExpiry: new Map() });

export interface LedgerStateOptions {
  /** Told of every entry that is asked for and that nobody has said anything about: it may be there or not. */
  onUnknown?: (key: string) => void;
}

/**
 * The closed ledger. It can be marked and gone back to its marks: what is changed after a mark is kept in a layer of its
 * own, so that going back is to drop layers, however many entries there are or were changed.
 */
export function createLedgerState({ onUnknown }: LedgerStateOptions = {}) {
  const layers: [Layer, ...Layer[]] = [newLayer()];
  let top: Layer = layers[0];

  function lookUp(key: string, from: number): StateEntry | undefined {
    for (let index = from; index >= 0; index--) {
      const { entries } = layers[index]!;
      const entry = entries.get(key);
      if (entry !== undefined || entries.has(key)) return entry;
    }
    onUnknown?.(key);
    return undefined;
  }

  function put(layer: Layer, key: string, entry: StateEntry | undefined) {
    forgetExpiry(layer, key);
    const isKnownAnyway = layer === layers[0] && onUnknown === undefined;
    if (entry === undefined && isKnownAnyway) layer.entries.delete(key);
    else layer.entries.set(key, entry);
    if (entry?.liveUntilLedger === undefined || !isTemporary(key)) return;
    const keys = layer.temporaryByExpiry.get(entry.liveUntilLedger);
    if (keys) keys.add(key);
    else layer.temporaryByExpiry.set(entry.liveUntilLedger, new Set([key]));
  }

  function forgetExpiry({ entries, temporaryByExpiry }: Layer, key: string) {
    const expiry = entries.get(key)?.liveUntilLedger;
    if (expiry === undefined || !isTemporary(key)) return;
    const keys = temporaryByExpiry.get(expiry);
    keys?.delete(key);
    if (keys?.size === 0) temporaryByExpiry.delete(expiry);
  }

  /** Keys of temporary entries that expired after a ledger from `first` to `last`. */
  function* expiredIn(first: number, last: number): Generator<string> {
    for (const { temporaryByExpiry } of layers) {
      if (first === last) yield* temporaryByExpiry.get(last) ?? [];
      else for (const [expiry, keys] of temporaryByExpiry) if (expiry >= first && expiry <= last) yield* keys;
    }
  }

  return {
    get: (key: string) => top.entries.get(key) ?? lookUp(key, layers.length - 1),
    /** Whether it is known of an entry that it is there, or that it is not. */
    isKnown: (key: string) => layers.some(({ entries }) => entries.has(key)),
    /** Makes the changes of a closed ledger the state. */
    commit(changes: LedgerChanges) {
      for (const [key, entry] of changes.entries()) {
        if (entry) entry.account = undefined; // What is decoded would outweigh the entry itself, for every account there is.
        put(top, key, entry);
      }
    },
    /** Keys of the temporary entries that are to go when this ledger closes, or in one of those from `since` on. */
    evictable(ledgerSequence: number, since = ledgerSequence): string[] {
      const [first, last] = [since - EVICTION_DELAY_LEDGERS, ledgerSequence - EVICTION_DELAY_LEDGERS];
      const isStill = (key: string) => {
        const expiry = lookUp(key, layers.length - 1)?.liveUntilLedger;
        return expiry !== undefined && expiry >= first && expiry <= last;
      };
      return [...new Set(expiredIn(first, last))].filter(isStill);
    },
    /** Puts an entry in below all marks, as it was before this network changed anything; undefined: there is none. */
    restore(key: string, entry: StateEntry | undefined) {
      put(layers[0], key, entry);
    },
    /** Marks the state as it is now: marks count from 0. */
    mark() {
      top = newLayer();
      layers.push(top);
    },
    /** What was changed since a mark, as it was then. */
    *before(mark: number): Generator<[string, StateEntry | undefined]> {
      const keys = new Set(layers.slice(mark + 1).flatMap(({ entries }) => [...entries.keys()]));
      for (const key of keys) yield [key, lookUp(key, mark)];
    },
    /** Goes back to a mark, which stays; those after it are gone. */
    returnTo(mark: number) {
      top = newLayer();
      layers.splice(mark + 1, Infinity, top);
    },
    /** Takes a mark away; nothing else changes, but that the marks after it count one less. */
    unmark(mark: number) {
      const [{ entries }] = layers.splice(mark + 1, 1) as [Layer];
      for (const [key, entry] of entries) put(layers[mark]!, key, entry);
      top = layers.at(-1)!;
    },
  };
}

import type { xdr } from "@stellar/stellar-sdk";
import { EVICTION_DELAY_LEDGERS, LEDGER_ENTRY_TYPES } from "./protocol.ts";

/** An encoded ledger entry with its TTL. */
export interface StateEntry {
  /** LedgerEntry. */
  entryXdr: Uint8Array;
  /** The last ledger of its life, undefined for entries without a TTL. */
  liveUntilLedger?: number;
  /** Ledger of the last change of the TTL. */
  ttlModifiedLedger?: number;
  /** Cache of the decoded account until it changes. A transaction loads its source many times. */
  account?: xdr.AccountEntry | undefined;
}

export function lastModifiedLedger({ entryXdr }: StateEntry): number {
  return new DataView(entryXdr.buffer, entryXdr.byteOffset).getUint32(0);
}

/** A source of entries. Keys are `keyOf(LedgerKey)`. */
export interface LedgerView {
  get(key: string): StateEntry | undefined;
}

/** Uncommitted changes on top of a view. */
export interface LedgerChanges extends LedgerView {
  put(key: string, entry: StateEntry): void;
  remove(key: string): void;
  /** The entry without these changes. */
  before(key: string): StateEntry | undefined;
  /** The changed entries in order of their first change, undefined for a removed one. */
  entries(): IterableIterator<[string, StateEntry | undefined]>;
  /** Moves the changes into the parent. */
  commitTo(parent: LedgerChanges): void;
}

/** Opens changes on top of `parent`, which must not change meanwhile. */
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

/** Whether a LedgerKey (as `keyOf`) names a temporary contract data entry. Its last word is the durability. */
export function isTemporary(key: string): boolean {
  return key.charCodeAt(3) === LEDGER_ENTRY_TYPES.contractData && key.charCodeAt(key.length - 1) === 0;
}

export type LedgerState = ReturnType<typeof createLedgerState>;

/** Entries in one Map, and the temporary ones by the last ledger of their life. */
interface Layer {
  /** Undefined for an entry that is known not to exist. */
  entries: Map<string, StateEntry | undefined>;
  /** May name entries that a layer above has changed. */
  temporaryByExpiry: Map<number, Set<string>>;
}

const newLayer = (): Layer => ({ entries: new Map(), temporaryByExpiry: new Map() });

export interface LedgerStateOptions {
  /** Called for a read of an unknown entry, which may exist on the forked network. */
  onUnknown?: (key: string) => void;
}

/**
 * The closed ledger, with marks to go back to. Changes after a mark are in their own layer, so that a return drops layers
 * and costs the same with any number of entries.
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
    dropExpiry(layer, key);
    const isKnownAnyway = layer === layers[0] && onUnknown === undefined;
    if (entry === undefined && isKnownAnyway) layer.entries.delete(key);
    else layer.entries.set(key, entry);
    if (entry?.liveUntilLedger === undefined || !isTemporary(key)) return;
    const keys = layer.temporaryByExpiry.get(entry.liveUntilLedger);
    if (keys) keys.add(key);
    else layer.temporaryByExpiry.set(entry.liveUntilLedger, new Set([key]));
  }

  function dropExpiry({ entries, temporaryByExpiry }: Layer, key: string) {
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
    /** Whether the state knows that an entry exists, or that it does not. */
    isKnown: (key: string) => layers.some(({ entries }) => entries.has(key)),
    /** Applies the changes of a closed ledger. */
    commit(changes: LedgerChanges) {
      for (const [key, entry] of changes.entries()) {
        if (entry) entry.account = undefined; // A decoded account takes more memory than its entry.
        put(top, key, entry);
      }
    },
    /** Keys of temporary entries whose eviction is due in this ledger, or in one from `since` on. */
    evictable(ledgerSequence: number, since = ledgerSequence): string[] {
      const [first, last] = [since - EVICTION_DELAY_LEDGERS, ledgerSequence - EVICTION_DELAY_LEDGERS];
      const isStill = (key: string) => {
        const expiry = lookUp(key, layers.length - 1)?.liveUntilLedger;
        return expiry !== undefined && expiry >= first && expiry <= last;
      };
      return [...new Set(expiredIn(first, last))].filter(isStill);
    },
    /** Puts an entry below all marks, as before all changes of this network. Undefined: it does not exist. */
    restore(key: string, entry: StateEntry | undefined) {
      put(layers[0], key, entry);
    },
    /** Marks the present state. Marks count from 0. */
    mark() {
      top = newLayer();
      layers.push(top);
    },
    /** The entries that changed since a mark, as they were at the mark. */
    *before(mark: number): Generator<[string, StateEntry | undefined]> {
      const keys = new Set(layers.slice(mark + 1).flatMap(({ entries }) => [...entries.keys()]));
      for (const key of keys) yield [key, lookUp(key, mark)];
    },
    /** Goes back to a mark, which stays. Drops later marks. */
    returnTo(mark: number) {
      top = newLayer();
      layers.splice(mark + 1, Infinity, top);
    },
    /** Removes a mark. Later marks count one less. */
    unmark(mark: number) {
      const [{ entries }] = layers.splice(mark + 1, 1) as [Layer];
      for (const [key, entry] of entries) put(layers[mark]!, key, entry);
      top = layers.at(-1)!;
    },
  };
}

import assert from "node:assert/strict";
import { formatEventId, type NewEvent, type UndecodedEvent } from "../../lib/store/event.ts";
import type { KeyRecord, Lease, Store, StoreErrorKind, WatcherState } from "../../lib/store/store.ts";
import { StoreError, WATCHER_LEASE } from "../../lib/store/store.ts";

export const CONTRACT = "CA5S4S7QGHJHJWVJBYL3CXZXZTNGKXMNZVDAEQNN7NUXFP4D7BYK7HIX";

export function sampleKey(id: string, fields: Partial<KeyRecord> = {}): KeyRecord {
  const [hash, createdAt] = ["ab".repeat(32), "2026-11-01T00:00:00.000Z"];
  return { id, name: `key ${id}`, hash, scopes: ["read"], disabled: false, createdAt, ...fields };
}

/** The id of the event `n`, which lies in the ledger 1 000 + n. */
export function sampleId(n: number, epoch = 0): string {
  return formatEventId({ epoch, ledger: 1_000 + n, order: 4_097, index: 1 });
}

/** A decoded event; `n` orders it. */
export function sampleEvent(n: number, fields: Partial<NewEvent> = {}): NewEvent {
  return {
    id: sampleId(n),
    type: "escrow.funded",
    contractId: CONTRACT,
    ledger: 1_000 + n,
    ledgerClosedAt: "2026-11-01T00:00:05Z",
    txHash: "cd".repeat(32),
    knownAt: 1_793_491_205,
    ...fields,
  };
}

/** The same in another epoch. */
export function sampleEventOf(epoch: number, n: number, fields: Partial<NewEvent> = {}): NewEvent {
  return sampleEvent(n, { id: sampleId(n, epoch), ...fields });
}

export function sampleUndecoded(n: number, fields: Partial<UndecodedEvent> = {}): UndecodedEvent {
  const { knownAt: _, ...origin } = sampleEvent(n);
  return { ...origin, type: null, raw: { topics: ["AAAADwAAAARmdW5k", "AAAA"], value: "AAAACg==" }, ...fields };
}

export function sampleState(scannedLedger: number, fields: Partial<WatcherState> = {}): WatcherState {
  return {
    epoch: 0,
    latestLedger: scannedLedger + 3,
    latestLedgerCloseTime: 1_793_491_200,
    scannedLedger,
    settledLedger: 990,
    rescans: [],
    checkpoints: [],
    formerCheckpoints: [],
    contracts: { [CONTRACT]: { fromLedger: 1_000, toLedger: null } },
    gaps: [],
    formerEpochs: [],
    ...fields,
  };
}

/** The watcher's lease, acquired again by its holder. */
export async function watcherLease(store: Store): Promise<Lease> {
  return (await store.leases.acquire({ name: WATCHER_LEASE, holder: "the watcher", durationMs: 60_000 }))!;
}

/** Appends these events in one step. */
export async function append(store: Store, ...events: (NewEvent | UndecodedEvent)[]) {
  return await store.events.append({ lease: await watcherLease(store), events, state: sampleState(1_001) });
}

/** Commits that all up to this ledger was scanned, and these events found. */
export async function scanned(
  store: Store,
  ledger: number,
  fields: Partial<WatcherState> = {},
  events: NewEvent[] = [],
): Promise<void> {
  await store.events.append({ lease: await watcherLease(store), events, state: sampleState(ledger, fields) });
}

/** Appends the events `from` to `to`. */
export async function appendMany(store: Store, from: number, to: number): Promise<void> {
  const lease = await watcherLease(store);
  for (let n = from; n <= to; n += 100) {
    const length = Math.min(100, to - n + 1);
    const events = Array.from({ length }, (_, index) => sampleEvent(n + index));
    await store.events.append({ lease, events, state: sampleState(1_000 + n) });
  }
}

/** A field that throws when a write reads it: the write must then leave no data. */
export function poisoned<T extends object>(record: T, field: keyof T): T {
  return Object.defineProperty({ ...record }, field, {
    enumerable: true,
    get() {
      throw new Error("poisoned");
    },
  });
}

/** A predicate for `assert.rejects`: a StoreError of this kind whose message holds these texts. */
export function storeError(kind: StoreErrorKind, ...texts: string[]): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof StoreError, `expected a StoreError, got ${error}`);
    assert.equal(error.kind, kind, error.message);
    for (const text of texts) assert.ok(error.message.includes(text), `"${error.message}" lacks "${text}"`);
    return true;
  };
}

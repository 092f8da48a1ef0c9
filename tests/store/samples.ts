import assert from "node:assert/strict";
import {
  type KeyRecord,
  type StoredEvent,
  StoreError,
  type StoreErrorKind,
  type WatcherState,
} from "../../lib/store/store.ts";

export function sampleKey(id: string, fields: Partial<KeyRecord> = {}): KeyRecord {
  return {
    id,
    name: `key ${id}`,
    hash: "ab".repeat(32),
    scopes: ["read"],
    disabled: false,
    createdAt: "2026-11-01T00:00:00.000Z",
    ...fields,
  };
}

export function samplePosition(n: number): string {
  return `000001-${String(n).padStart(19, "0")}-0000000001`;
}

/** A decoded event; `n` orders it. */
export function sampleEvent(n: number, fields: Partial<StoredEvent> = {}): StoredEvent {
  return {
    position: samplePosition(n),
    id: `event-${n}`,
    type: "escrow.funded",
    contractId: "CA5S4S7QGHJHJWVJBYL3CXZXZTNGKXMNZVDAEQNN7NUXFP4D7BYK7HIX",
    ledger: 1_000 + n,
    ledgerClosedAt: "2026-11-01T00:00:05Z",
    txHash: "cd".repeat(32),
    ...fields,
  };
}

export function sampleUndecoded(n: number): StoredEvent {
  return sampleEvent(n, { type: null, raw: { topics: ["AAAADwAAAARmdW5k", "AAAA"], value: "AAAACg==" } });
}

export function sampleState(scannedLedger: number, fields: Partial<WatcherState> = {}): WatcherState {
  return {
    epoch: 1,
    contractIds: "CA,CB",
    oldestLedger: 1_000,
    scannedLedger,
    latestLedgerCloseTime: 1_793_491_200,
    latestLedger: scannedLedger + 3,
    ...fields,
  };
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

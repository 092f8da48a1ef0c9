import { bytesOf, createXdrWriter, sameBytes, sha256 } from "./bytes.ts";
import { isTemporary, type LedgerChanges, type StateEntry } from "./state.ts";
import { LEDGER_ENTRY_TYPES } from "./protocol.ts";

const CREATED = 0, UPDATED = 1, REMOVED = 2, STATE = 3, RESTORED = 4;

const change = (type: number, body: Uint8Array) => createXdrWriter().uint32(type).raw(body).finish();

function ttlKeyXdr(key: string): Uint8Array {
  return createXdrWriter().uint32(LEDGER_ENTRY_TYPES.ttl).raw(sha256(bytesOf(key))).finish();
}

function ttlEntryXdr(key: string, entry: StateEntry, liveUntilLedger: number): Uint8Array {
  return createXdrWriter().uint32(entry.ttlModifiedLedger ?? 0).uint32(LEDGER_ENTRY_TYPES.ttl).raw(sha256(bytesOf(key)))
    .uint32(liveUntilLedger).uint32(0).finish();
}

/** The entry without the ledger of its last change. */
const dataOf = (entryXdr: Uint8Array) => entryXdr.subarray(4);

function stampedWith(entryXdr: Uint8Array, ledgerSequence: number): Uint8Array {
  return createXdrWriter().uint32(ledgerSequence).raw(dataOf(entryXdr)).finish();
}

/**
 * The LedgerEntryChange list of these changes, each TTL entry after its own entry. A restored archived entry is `restored`,
 * and also `updated` when the same transaction changed it (CAP-62, CAP-66).
 */
export function entryChanges(changes: LedgerChanges, ledgerSequence: number): Uint8Array[] {
  const out: Uint8Array[] = [];
  for (const [key, after] of changes.entries()) {
    const before = changes.before(key);
    const wasArchived = before?.liveUntilLedger !== undefined && before.liveUntilLedger < ledgerSequence &&
      !isTemporary(key);
    if (before && after && wasArchived) out.push(...restoredChanges(key, before, after, ledgerSequence));
    else out.push(...plainChanges(key, before, after));
  }
  return out;
}

function restoredChanges(key: string, before: StateEntry, after: StateEntry, ledgerSequence: number): Uint8Array[] {
  const out = [];
  if (sameBytes(dataOf(before.entryXdr), dataOf(after.entryXdr))) {
    out.push(change(RESTORED, after.entryXdr));
  } else {
    out.push(change(RESTORED, stampedWith(before.entryXdr, ledgerSequence)), change(UPDATED, after.entryXdr));
  }
  if (after.liveUntilLedger !== undefined) out.push(change(RESTORED, ttlEntryXdr(key, after, after.liveUntilLedger)));
  return out;
}

function plainChanges(key: string, before: StateEntry | undefined, after: StateEntry | undefined): Uint8Array[] {
  const out: Uint8Array[] = [];
  if (before && after && before.entryXdr !== after.entryXdr) {
    out.push(change(STATE, before.entryXdr), change(UPDATED, after.entryXdr));
  } else if (before && !after) {
    out.push(change(STATE, before.entryXdr), change(REMOVED, bytesOf(key)));
  } else if (!before && after) {
    out.push(change(CREATED, after.entryXdr));
  }
  const [had, has] = [before?.liveUntilLedger, after?.liveUntilLedger];
  if (before && had !== undefined && had !== has) out.push(change(STATE, ttlEntryXdr(key, before, had)));
  if (after && has !== undefined && had !== has) {
    out.push(change(had === undefined ? CREATED : UPDATED, ttlEntryXdr(key, after, has)));
  }
  if (had !== undefined && has === undefined) out.push(change(REMOVED, ttlKeyXdr(key)));
  return out;
}

/** The LedgerKeys that an eviction removes: of the entry and of its TTL. */
export function evictedKeys(keys: string[]): Uint8Array[] {
  return keys.flatMap((key) => [bytesOf(key), ttlKeyXdr(key)]);
}

/** Fees of a Soroban transaction in stroops, and its return value. */
export interface SorobanMeta {
  nonRefundableFee: bigint;
  refundableFee: bigint;
  rentFee: bigint;
  returnValueXdr?: Uint8Array;
}

export interface OperationMeta {
  /** LedgerEntryChange each. */
  changes: Uint8Array[];
  /** ContractEvent each. */
  eventsXdr: Uint8Array[];
}

export interface TransactionMetaParts {
  changesBefore: Uint8Array[];
  /** Empty when the transaction failed. */
  operations: OperationMeta[];
  soroban?: SorobanMeta;
  /** TransactionEvent each. */
  eventsXdr: Uint8Array[];
  /** DiagnosticEvent each. */
  diagnosticEventsXdr: Uint8Array[];
}

/** Offset and length of a part of the metadata. */
export type Slice = [number, number];

/** The events as slices of the metadata, so that nothing is stored twice. */
export interface MetaSlices {
  transactionEvents: Slice[];
  contractEvents: Slice[][];
  diagnosticEvents: Slice[];
}

/** TransactionMeta V4, and the slices of its events. */
export function transactionMeta(parts: TransactionMetaParts): { metaXdr: Uint8Array; slices: MetaSlices } {
  const writer = createXdrWriter();
  const place = (items: Uint8Array[]): Slice[] => {
    writer.uint32(items.length);
    return items.map((item) => {
      const at = writer.length;
      writer.raw(item);
      return [at, item.length];
    });
  };
  writer.uint32(4).uint32(0).list(parts.changesBefore).uint32(parts.operations.length);
  const contractEvents = parts.operations.map(({ changes, eventsXdr }) => {
    writer.uint32(0).list(changes);
    return place(eventsXdr);
  });
  writer.uint32(0); // Since protocol 23 the refund comes after all transactions, outside this metadata.
  if (parts.soroban) {
    const { nonRefundableFee, refundableFee, rentFee, returnValueXdr } = parts.soroban;
    writer.uint32(1).uint32(1).uint32(0).int64(nonRefundableFee).int64(refundableFee).int64(rentFee);
    if (returnValueXdr) writer.uint32(1).raw(returnValueXdr);
    else writer.uint32(0);
  } else {
    writer.uint32(0);
  }
  const transactionEvents = place(parts.eventsXdr);
  const diagnosticEvents = place(parts.diagnosticEventsXdr);
  return { metaXdr: writer.finish(), slices: { transactionEvents, contractEvents, diagnosticEvents } };
}

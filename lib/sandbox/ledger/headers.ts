import { xdr } from "@stellar/stellar-sdk";
import { bytesOf, createXdrWriter, fromHex, sha256 } from "./bytes.ts";
import type { LedgerRecord, TransactionRecord } from "./records.ts";
import type { LedgerChanges } from "./state.ts";
import { BASE_FEE, BASE_RESERVE, MAX_TX_SET_SIZE, TOTAL_COINS } from "./protocol.ts";

/** The values of the last closed ledger that the next one needs. */
export interface LedgerTip {
  sequence: number;
  /** Unix seconds. */
  closeTime: number;
  /** Hash of the header. */
  hash: Uint8Array;
  /** Hash of the state, in the header. */
  stateHash: Uint8Array;
  /** Stroops of all charged fees. */
  feePool: bigint;
}

/** The tip before the first ledger. */
export const NOTHING: LedgerTip = {
  sequence: 0,
  closeTime: 0,
  hash: new Uint8Array(32),
  stateHash: new Uint8Array(32),
  feePool: 0n,
};

const NO_ENTRY = new Uint8Array();

/** A hash chain over all changes, in place of the real network's hash of its bucket list. */
export function nextStateHash(previous: Uint8Array, changes: LedgerChanges): Uint8Array {
  const writer = createXdrWriter().raw(previous);
  for (const [key, entry] of changes.entries()) {
    writer.opaque(bytesOf(key)).uint32(entry?.liveUntilLedger ?? 0).opaque(entry?.entryXdr ?? NO_ENTRY);
  }
  return sha256(writer.finish());
}

export interface HeaderParts {
  protocolVersion: number;
  previous: LedgerTip;
  closeTime: number;
  feePool: bigint;
  txSetHash: Uint8Array;
  txSetResultHash: Uint8Array;
  stateHash: Uint8Array;
}

/** The protocol in a LedgerHeaderHistoryEntry, which is a hash and the header. */
export function protocolOf(headerXdr: Uint8Array): number {
  return new DataView(headerXdr.buffer, headerXdr.byteOffset).getUint32(32);
}

/** Builds a LedgerHeaderHistoryEntry and its tip. The skip list stays empty, because no client here uses it. */
export function nextHeader(parts: HeaderParts): { headerXdr: Uint8Array; tip: LedgerTip } {
  const { previous, closeTime, feePool, stateHash } = parts;
  const sequence = previous.sequence + 1;
  const header = createXdrWriter()
    .uint32(parts.protocolVersion).raw(previous.hash)
    .raw(parts.txSetHash).int64(BigInt(closeTime)).uint32(0).uint32(0)
    .raw(parts.txSetResultHash).raw(stateHash)
    .uint32(sequence).int64(TOTAL_COINS).int64(feePool)
    .uint32(0).int64(0n).uint32(Number(BASE_FEE)).uint32(BASE_RESERVE).uint32(MAX_TX_SET_SIZE)
    .raw(new Uint8Array(4 * 32)).uint32(0)
    .finish();
  const hash = sha256(header);
  const headerXdr = createXdrWriter().raw(hash).raw(header).uint32(0).finish();
  return { headerXdr, tip: { sequence, closeTime, hash, stateHash, feePool } };
}

/** The tip of a LedgerHeaderHistoryEntry. */
export function tipOf(headerXdr: Uint8Array): LedgerTip {
  const { hash, header } = xdr.LedgerHeaderHistoryEntry.fromXdr(headerXdr);
  return {
    sequence: header.ledgerSeq,
    closeTime: Number(header.scpValue.closeTime),
    hash: hash.value,
    stateHash: header.bucketListHash.value,
    feePool: header.feePool,
  };
}

/** GeneralizedTransactionSet: the classic phase, then the Soroban one with a single cluster. */
export function txSetXdr(
  previousHash: Uint8Array,
  transactions: readonly { envelopeXdr: Uint8Array; soroban: boolean }[],
): Uint8Array {
  const envelopes = (soroban: boolean) => transactions.filter((t) => t.soroban === soroban).map((t) => t.envelopeXdr);
  const [classic, contracts] = [envelopes(false), envelopes(true)];
  const writer = createXdrWriter().uint32(1).raw(previousHash).uint32(2);
  writer.uint32(0).uint32(classic.length > 0 ? 1 : 0);
  if (classic.length > 0) writer.uint32(0).uint32(1).int64(BASE_FEE).list(classic);
  writer.uint32(1).uint32(1).int64(BASE_FEE).uint32(contracts.length > 0 ? 1 : 0);
  if (contracts.length > 0) writer.uint32(1).list(contracts);
  return writer.finish();
}

/** Hash of the TransactionResultSet. */
export function resultSetHash(transactions: readonly TransactionRecord[]): Uint8Array {
  return sha256(createXdrWriter().list(transactions.map(resultPair)).finish());
}

function resultPair({ hash, resultXdr }: TransactionRecord): Uint8Array {
  return createXdrWriter().raw(fromHex(hash)).raw(resultXdr).finish();
}

const LIVE_STATE_SIZE_UNKNOWN = 0n;

/** LedgerCloseMeta (V2) of a ledger. */
export function closeMetaXdr(record: LedgerRecord): Uint8Array {
  const previousHash = record.headerXdr.subarray(36, 68);
  const processing = record.transactions.map((transaction) =>
    createXdrWriter().uint32(0).raw(resultPair(transaction)).raw(transaction.feeChangesXdr).raw(transaction.metaXdr)
      .raw(transaction.refundChangesXdr).finish()
  );
  return createXdrWriter().uint32(2).uint32(0).raw(record.headerXdr).raw(txSetXdr(previousHash, record.transactions))
    .list(processing).uint32(0).uint32(0).int64(LIVE_STATE_SIZE_UNKNOWN).list(record.evictedKeys).finish();
}

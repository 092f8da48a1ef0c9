import { createXdrWriter, sha256, toHex } from "./bytes.ts";
import { type LedgerTip, nextHeader, protocolOf, resultSetHash, tipOf, txSetXdr } from "./headers.ts";
import type { LedgerRecord } from "./records.ts";

/** An advance closes so many of its newest ledgers one by one and skips the others. */
export const CLOSED_ONE_BY_ONE = 1_000;

/** Skipped ledgers are created on demand, in blocks of so many. */
const BLOCK_LEDGERS = 1_000;

/** Whether an advance of so many ledgers skips more than one chain of them. */
export const breaksHashChain = (ledgers: number) => ledgers - 1 - CLOSED_ONE_BY_ONE > BLOCK_LEDGERS;

/** The held ledgers around the skipped ones. */
export interface Skipped {
  before: LedgerRecord;
  /** Sequence and close time of the next held ledger. */
  next: { sequence: number; closeTime: number };
}

/** The tip of the last skipped ledger. */
export function lastSkipped(skipped: Skipped): LedgerTip {
  return tipOf(blockOf(skipped, skipped.next.sequence - 1).at(-1)!.headerXdr);
}

/**
 * Creates skipped ledgers, which are empty and so follow from the ledger before them. Within a block each has the hash of its
 * predecessor. Every block starts a new chain, because chaining a million ledgers would take seconds.
 */
export function createSkippedLedgers() {
  let made: LedgerRecord[] = [];
  let of: LedgerRecord | undefined;
  return (skipped: Skipped, sequence: number): LedgerRecord => {
    const at = () => of === skipped.before ? made.find((record) => record.sequence === sequence) : undefined;
    if (at() === undefined) {
      made = blockOf(skipped, sequence);
      of = skipped.before;
    }
    return at()!;
  };
}

/** The block of a skipped ledger. */
function blockOf({ before, next }: Skipped, sequence: number): LedgerRecord[] {
  const start = tipOf(before.headerXdr);
  const block = Math.floor((sequence - before.sequence - 1) / BLOCK_LEDGERS);
  const first = before.sequence + 1 + block * BLOCK_LEDGERS;
  const last = Math.min(first + BLOCK_LEDGERS, next.sequence) - 1;
  const pace = (next.closeTime - before.closeTime) / (next.sequence - before.sequence);
  const hash = block === 0 ? start.hash : sha256(start.hash, createXdrWriter().uint32(block).finish());
  let previous: LedgerTip = { ...start, sequence: first - 1, hash };
  const records: LedgerRecord[] = [];
  while (previous.sequence < last) {
    const closeTime = before.closeTime + Math.floor(pace * (previous.sequence + 1 - before.sequence));
    const { headerXdr, tip } = nextHeader({
      protocolVersion: protocolOf(before.headerXdr),
      previous,
      closeTime,
      feePool: previous.feePool,
      txSetHash: sha256(txSetXdr(previous.hash, [])),
      txSetResultHash: resultSetHash([]),
      stateHash: previous.stateHash,
    });
    const { sequence } = tip;
    records.push({ sequence, closeTime, hash: toHex(tip.hash), headerXdr, transactions: [], evictedKeys: [] });
    previous = tip;
  }
  return records;
}

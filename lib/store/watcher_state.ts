import { heightOf } from "./event.ts";

/** Ledgers whose events could not be read. Both ends belong to the gap. */
export interface HistoryGap {
  epoch: number;
  fromLedger: number;
  toLedger: number;
  /** The contracts whose events are missing, sorted. */
  contractIds: string[];
  /** ISO 8601 UTC, when it was noticed. */
  noticedAt: string;
}

export interface LedgerHash {
  ledger: number;
  /** Of its header, hex. */
  hash: string;
}

/** How far the watcher has come: all that it goes by after a start. */
export interface WatcherState {
  /** Raised when the network was reset. */
  epoch: number;
  /** The newest ledger that is believed. */
  latestLedger: number;
  /** Its close time, Unix seconds; 0 while no node has said one. */
  latestLedgerCloseTime: number;
  /** All ledgers up to this one have been scanned, gaps apart. */
  scannedLedger: number;
  /** The RPC's cursor for the next page; absent: ask from `scannedLedger + 1`. */
  rpcCursor?: string;
  /** A scanned ledger and its hash, by which a reset network is told; absent: no node has said one. */
  anchor?: LedgerHash;
  /** The anchor of the network before the last reset: a node may still show that one. */
  formerAnchor?: LedgerHash;
  /** What one answer said of the next anchor, and which node's it was; another answer has to say the same. */
  nextAnchor?: LedgerHash & { node: number };
  /** The second look has come to this ledger. */
  checkedLedger: number;
  /** Absent: nothing is to be looked at a second time yet. */
  secondLook?: {
    /** All up to this ledger had been scanned at this time, Unix seconds: ascending, of the last minutes. */
    marks: { ledger: number; seconds: number }[];
    /** Where it goes on within a ledger; absent: after `checkedLedger`. */
    rpcCursor?: string;
  };
  /** What tried to decode the undecoded events last, and up to which; null: all of them. */
  decoder?: { name: string; triedUpTo: string | null };
  /** The contracts that were watched in this epoch, by id: from which ledger, up to which (null: watched still). */
  contracts: Record<string, { fromLedger: number; toLedger: number | null }>;
  /** Of all epochs, ascending by epoch and ledger. */
  gaps: HistoryGap[];
  /** What is held of earlier epochs, ascending. */
  formerEpochs: { epoch: number; fromLedger: number; toLedger: number }[];
}

/** The height after the committed tip. */
export function heightAfter({ epoch, latestLedger, scannedLedger }: WatcherState): number {
  return heightOf(epoch, Math.max(latestLedger, scannedLedger)) + 1;
}

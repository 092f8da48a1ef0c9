import type { Checkpoint } from "../ledger_numbers.ts";
import { heightOf } from "./event.ts";

/**
 * Why events of a gap are missing. `pruned`: no node held its ledgers any more. `contract`: its contracts were not watched then.
 * `reset`: the network was reset before they were settled.
 */
export type GapReason = "pruned" | "contract" | "reset";

/** Ledgers whose events could not be read. Both ends belong to the gap. */
export interface HistoryGap {
  epoch: number;
  fromLedger: number;
  toLedger: number;
  /** The contracts whose events are missing, sorted. */
  contractIds: string[];
  /** ISO 8601 UTC, when it was noticed. */
  detectedAt: string;
  reason: GapReason;
}

/** How far the watcher has come: all that it goes by after a start. */
export interface WatcherState {
  /** Raised when the network was reset. */
  epoch: number;
  /** The head; where its close time is not known, the newest ledger whose time is. */
  latestLedger: number;
  /** Close time of the newest ledger whose time is known, Unix seconds; 0 while no node has said one. */
  latestLedgerCloseTime: number;
  /** All ledgers up to this one have been scanned, gaps apart; never above the head. */
  scannedLedger: number;
  /** Where the next page begins within the ledger after `scannedLedger`. Absent: at its beginning. */
  rpcCursor?: string;
  /** All ledgers up to this one have been scanned twice. */
  settledLedger: number;
  /** All up to this ledger was scanned when the head had this close time: ascending, those that wait to be scanned again. */
  rescans: { ledger: number; closeTime: number }[];
  /** Of this epoch, ascending, the last ten. */
  checkpoints: Checkpoint[];
  /** The last one of each former epoch, ascending. */
  formerCheckpoints: Checkpoint[];
  /** What tried to decode the undecoded events last, and up to which. Null: all of them. */
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

import type { Checkpoint } from "../ledger_numbers.ts";
import { heightOf } from "./event.ts";

/**
 * Why the events of a gap are missing. `pruned`: no node had its ledgers any more. `contract`: the gateway did not watch the
 * contracts then. `reset`: the network was reset before the ledgers were settled. `start`: the log began at a later ledger, and
 * the gateway reads these ones behind it.
 */
export const GAP_REASONS = ["pruned", "contract", "reset", "start"] as const;
export type GapReason = (typeof GAP_REASONS)[number];

/** Ledgers whose events the gateway could not read. Both ends belong to the gap. */
export interface HistoryGap {
  epoch: number;
  fromLedger: number;
  toLedger: number;
  /** The contracts whose events are missing, sorted. */
  contractIds: string[];
  /** When the gateway found the gap, ISO 8601 UTC. */
  detectedAt: string;
  reason: GapReason;
}

/** The progress of the watcher. A start needs nothing else. */
export interface WatcherState {
  /** A network reset raises it. */
  epoch: number;
  /** The head. Without a known close time: the newest ledger that has one. */
  latestLedger: number;
  /** Close time of the newest ledger with a known one, Unix seconds. 0: no node has reported one. */
  latestLedgerCloseTime: number;
  /** The watcher has scanned all ledgers up to this one, apart from gaps. Never above the head. */
  scannedLedger: number;
  /** The start of the next page within the ledger after `scannedLedger`. Absent: the ledger's beginning. */
  rpcCursor?: string;
  /** The watcher has scanned all ledgers up to this one twice. */
  settledLedger: number;
  /** Ledgers that wait for their rescan, ascending, each with the close time of the head at the first scan. */
  rescans: { ledger: number; closeTime: number }[];
  /** The last ten of this epoch, ascending. */
  checkpoints: Checkpoint[];
  /** The last one of each former epoch, ascending. */
  formerCheckpoints: Checkpoint[];
  /** The program that last tried to decode the undecoded events, and the last one it tried. Null: all of them. */
  decoder?: { name: string; triedUpTo: string | null };
  /** The watched contracts of this epoch by id, each with its range of ledgers. `toLedger` null: still watched. */
  contracts: Record<string, { fromLedger: number; toLedger: number | null }>;
  /** The gaps of all epochs, ascending by epoch and ledger. */
  gaps: HistoryGap[];
  /** The ledgers of former epochs that the log covers, ascending. */
  formerEpochs: { epoch: number; fromLedger: number; toLedger: number }[];
}

/** The height after the committed tip. */
export function heightAfter({ epoch, latestLedger, scannedLedger }: WatcherState): number {
  return heightOf(epoch, Math.max(latestLedger, scannedLedger)) + 1;
}

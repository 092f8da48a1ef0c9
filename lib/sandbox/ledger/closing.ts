import { SqliteError } from "../../runtime/sqlite.ts";
import type { AppliedTransaction, ClosedLedger } from "../network_types.ts";
import type { Chain } from "./chain.ts";
import type { Envelope } from "./envelopes.ts";
import type { Mempool } from "./mempool.ts";

type Callback = (transaction: AppliedTransaction | undefined) => void;

export interface ClosingParts {
  chain: Chain;
  mempool: Mempool;
  ledgerMs: number;
  /** The network's time. */
  unixSeconds(): number;
  onClose(ledger: ClosedLedger): void;
  /** See `NetworkOptions`. */
  onStuck?: (error: SqliteError) => void;
  onUnstuck?: () => void;
}

/** Closes ledgers with the queued transactions, and reports their outcomes. */
export interface Closing {
  /** @param inTime whether the ledger closes in the network's pace */
  close(inTime: boolean): ClosedLedger;
  /** With this close time, Unix seconds. */
  closeAt(closeTime: number): ClosedLedger;
  /** Handles a failure of `close`. With a failed state file the network is stuck until a ledger closes. Throws other errors. */
  onFailure(error: unknown): void;
  /** Calls back with the applied transaction, or with undefined when the network dropped it. */
  whenClosed(hash: string, callback: Callback): void;
  /** Drops all queued transactions. */
  dropQueued(): void;
}

export function createClosing(
  { chain, mempool, ledgerMs, unixSeconds, onClose, onStuck, onUnstuck }: ClosingParts,
): Closing {
  const awaited = new Map<string, Callback>();
  let isStuck = false;

  /** Runs with an empty queue, so every awaited transaction is applied (perhaps in a fee bump) or dropped. */
  function reportOutcomes(): void {
    const callbacks = [...awaited];
    awaited.clear();
    for (const [hash, callback] of callbacks) callback(chain.history.transaction(hash));
  }

  /** Queues the envelopes again when the ledger cannot be written. After other errors they are dropped. */
  function putBackOnFailure(envelopes: Envelope[], append: () => void): void {
    try {
      append();
    } catch (error) {
      if (error instanceof SqliteError) mempool.putBack(envelopes);
      throw error;
    }
  }

  function closeAt(closeTime: number): ClosedLedger {
    const { ready, dropped } = mempool.takeFor(closeTime);
    putBackOnFailure([...ready, ...dropped], () => chain.append(ready, closeTime));
    reportOutcomes();
    const ledger = chain.history.latestLedger();
    if (isStuck) onUnstuck?.();
    isStuck = false;
    onClose(ledger);
    return ledger;
  }

  return {
    // Close times are whole seconds. Ledgers below a second, and those closed by hand, may share one.
    close: (inTime) => closeAt(Math.max(chain.tip().closeTime + (inTime && ledgerMs >= 1_000 ? 1 : 0), unixSeconds())),
    closeAt,
    onFailure(error) {
      if (!(error instanceof SqliteError) || onStuck === undefined) throw error;
      if (!isStuck) onStuck(error);
      isStuck = true;
    },
    whenClosed: (hash, callback) => void awaited.set(hash, callback),
    dropQueued() {
      mempool.takeAll();
      reportOutcomes();
    },
  };
}

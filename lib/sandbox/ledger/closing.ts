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

/** Closes ledgers of what waits, and tells those who wait for it. */
export interface Closing {
  /** `inTime`: as the next in the network's pace. */
  close(inTime: boolean): ClosedLedger;
  /** With this close time, Unix seconds. */
  closeAt(closeTime: number): ClosedLedger;
  /** Takes a failure of `close`: one of the state file leaves the network stuck until a ledger closes. Throws any other. */
  onFailure(error: unknown): void;
  /** Calls back once the transaction is applied, or never will be: undefined then. */
  whenClosed(hash: string, callback: Callback): void;
  /** Nothing of what waits will be applied. */
  dropQueued(): void;
}

export function createClosing(
  { chain, mempool, ledgerMs, unixSeconds, onClose, onStuck, onUnstuck }: ClosingParts,
): Closing {
  const awaited = new Map<string, Callback>();
  let isStuck = false;

  /** To be called when nothing waits any more: what was awaited was applied, by itself or in a fee bump, or never will be. */
  function tellOutcomes(): void {
    const callbacks = [...awaited];
    awaited.clear();
    for (const [hash, callback] of callbacks) callback(chain.history.transaction(hash));
  }

  /** A ledger that could not be written has not happened; what has no place in one at all is not tried again. */
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
    tellOutcomes();
    const ledger = chain.history.latestLedger();
    if (isStuck) onUnstuck?.();
    isStuck = false;
    onClose(ledger);
    return ledger;
  }

  return {
    // Whole seconds: ledgers of less than a second, and those closed by hand, may share one, slower ones never do.
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
      tellOutcomes();
    },
  };
}

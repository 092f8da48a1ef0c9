import { SqliteError } from "../runtime/sqlite.ts";
import { keyOf } from "./ledger/bytes.ts";
import { openChain, PROTOCOL_VERSION } from "./ledger/chain.ts";
import { entryParts } from "./ledger/classic_entries.ts";
import type { Envelope } from "./ledger/envelopes.ts";
import { createFaucet } from "./ledger/faucet.ts";
import { createMempool } from "./ledger/mempool.ts";
import { simulate } from "./ledger/simulation.ts";
import { EVICTION_DELAY_LEDGERS, isTemporary, type LedgerView } from "./ledger/state.ts";
import { createTicker, type Schedule, scheduleWithTimers } from "./ledger/ticker.ts";
import type { AppliedTransaction, ClosedLedger, HeldEntry, Network } from "./network_types.ts";

export const SANDBOX_PASSPHRASE = "Standalone Sandbox Network ; 2026";

export interface NetworkOptions {
  engineWasm: Uint8Array | WebAssembly.Module;
  /** Default `SANDBOX_PASSPHRASE`. */
  passphrase?: string;
  /** Time between ledgers, default 1000. 0: a transaction's ledger closes at once, and an empty one every five seconds. */
  ledgerMs?: number;
  /** Unix milliseconds. */
  now?: () => number;
  /** Calls back after so many milliseconds; answers how to call it off. Default: timers. */
  schedule?: Schedule;
  /** Path of a sqlite file that keeps the ledger over restarts. Default: nothing is kept. */
  stateFile?: string;
  /** Ledgers whose transactions and events are kept, default 17 280. */
  retentionLedgers?: number;
  /** Transactions that may wait for the next ledger, default 1 000. */
  queueLimit?: number;
  /** Default: the runtime's random generator. */
  randomBytes?: (length: number) => Uint8Array;
  /** Changes network settings (LedgerEntry each) of a new ledger. Default: those of the public network. */
  adjustSettings?: (entryXdr: Uint8Array) => Uint8Array;
  /** Told of every closed ledger. */
  onClose?: (ledger: ClosedLedger) => void;
  /** Told of a fault of the network's own that failed a transaction (txINTERNAL_ERROR). */
  onInternalError?: (error: unknown) => void;
  /**
   * Told when a ledger that is due cannot be written to the state file. No ledger closes until one can be: it is tried
   * again and again, and what was submitted waits for it. Told once, until `onUnstuck`. Default: throws it.
   */
  onStuck?: (error: SqliteError) => void;
  /** Told when ledgers close again. */
  onUnstuck?: () => void;
}

/** A network, and what its owner wants kept with it. */
export interface SandboxNetwork extends Network {
  /** A text that was kept under this name, also by an earlier process on the same state file. */
  recall(name: string): string | undefined;
  keep(name: string, text: string): void;
}

const STALE_SECONDS = 5;

/**
 * Starts a network of one validator: a ledger, checked envelopes, real contracts. It differs from the public network in
 * that there is no consensus and no contention (nothing is left out of a ledger, fees are the minimum), and in the classic
 * operations it leaves out (`ledger/classic/operations.ts` lists them).
 * Throws when the state file belongs to another network.
 */
export async function createNetwork(options: NetworkOptions): Promise<SandboxNetwork> {
  const { passphrase = SANDBOX_PASSPHRASE, ledgerMs = 1_000, now = Date.now, retentionLedgers = 17_280 } = options;
  const randomBytes = options.randomBytes ?? ((length) => crypto.getRandomValues(new Uint8Array(length)));
  const unixSeconds = () => Math.floor(now() / 1000);
  const chain = await openChain({
    engineWasm: options.engineWasm,
    passphrase,
    startTime: unixSeconds(),
    retentionLedgers,
    stateFile: options.stateFile,
    adjustSettings: options.adjustSettings,
    onInternalError: options.onInternalError ?? (() => {}),
  });
  const onQueued = () => ticker.transactionArrived();
  const mempool = createMempool({ chain, now, ledgerMs, limit: options.queueLimit ?? 1_000, onQueued });
  const awaited = new Map<string, (transaction: AppliedTransaction | undefined) => void>();
  const faucet = createFaucet({
    passphrase,
    state: chain.state,
    submit: mempool.submit,
    whenClosed: (hash, callback) => void awaited.set(hash, callback),
  });

  function settle(hash: string, transaction: AppliedTransaction | undefined) {
    const callback = awaited.get(hash);
    awaited.delete(hash);
    callback?.(transaction);
  }

  function close(): ClosedLedger {
    // Whole seconds: two ledgers of less than a second may share one, slower ones never do.
    const closeTime = Math.max(chain.tip().closeTime + (ledgerMs >= 1_000 ? 1 : 0), unixSeconds());
    const { ready, dropped } = mempool.takeFor(closeTime);
    const applied = putBackOnFailure([...ready, ...dropped], () => chain.append(ready, closeTime));
    for (const transaction of applied) settle(transaction.hash, transaction);
    for (const { hash } of dropped) settle(hash, undefined);
    faucet.ledgerClosed();
    const ledger = chain.history.latestLedger();
    if (isStuck) options.onUnstuck?.();
    isStuck = false;
    options.onClose?.(ledger);
    return ledger;
  }

  /** A ledger that could not be written has not happened; what has no place in one at all is not tried again. */
  function putBackOnFailure<T>(envelopes: Envelope[], append: () => T): T {
    try {
      return append();
    } catch (error) {
      if (error instanceof SqliteError) mempool.putBack(envelopes);
      throw error;
    }
  }

  let isStuck = false;
  const { onStuck } = options;
  function onFailure(error: unknown) {
    if (!(error instanceof SqliteError) || onStuck === undefined) throw error;
    if (!isStuck) onStuck(error);
    isStuck = true;
  }

  const schedule = options.schedule ?? scheduleWithTimers;
  const ticker = createTicker({ ledgerMs, now, schedule, close, onFailure, hasWaiting: mempool.hasWaiting });
  try {
    // A network that slept goes on in the present: a node whose last ledger is old counts as unhealthy.
    if (unixSeconds() - chain.tip().closeTime > STALE_SECONDS) ticker.closeNow();
  } catch (error) {
    ticker.stop();
    chain.close();
    throw error;
  }
  const { history } = chain;
  return {
    passphrase,
    protocolVersion: PROTOCOL_VERSION,
    retentionLedgers,
    latestLedger: history.latestLedger,
    oldestLedger: history.oldestLedger,
    ledger: history.ledger,
    entry: (keyXdr) => heldEntry(chain.state, keyXdr, chain.tip().sequence),
    simulate(envelopeXdr, simulateOptions) {
      return simulate(chain.validator, chain.tip(), envelopeXdr, { ...simulateOptions, prngSeed: randomBytes(32) });
    },
    xdrToJson: (type, values) => chain.validator.engine.toJson(type, values),
    submit: mempool.submit,
    transaction: history.transaction,
    transactionsAfter: history.transactionsAfter,
    eventsAfter: history.eventsAfter,
    fees: history.fees,
    fund: faucet.fund,
    closeLedger: ticker.closeNow,
    recall: chain.recall,
    keep: chain.keep,
    stop() {
      ticker.stop();
      while (mempool.hasWaiting()) for (const { hash } of mempool.takeAll()) settle(hash, undefined);
      chain.close();
      return Promise.resolve();
    },
  };
}

/** An archived entry that was evicted answers 0, as the real node does: it lives in the archive only. */
function heldEntry(state: LedgerView, keyXdr: Uint8Array, latest: number): HeldEntry | undefined {
  const key = keyOf(keyXdr);
  const held = state.get(key);
  if (!held) return undefined;
  const { entryXdr, liveUntilLedger } = held;
  const lastModifiedLedger = new DataView(entryXdr.buffer, entryXdr.byteOffset).getUint32(0);
  const parts = entryParts(entryXdr);
  if (liveUntilLedger === undefined) return { ...parts, lastModifiedLedger };
  const evicted = !isTemporary(key) && liveUntilLedger + EVICTION_DELAY_LEDGERS <= latest;
  return { ...parts, lastModifiedLedger, liveUntilLedger: evicted ? 0 : liveUntilLedger };
}

import type { SqliteError } from "../runtime/sqlite.ts";
import { secureRandom } from "../random.ts";
import { createFork, type Fork } from "./fork/fork.ts";
import type { Remote } from "./fork/remote.ts";
import { planAdvance } from "./ledger/advance.ts";
import { bytesOf, keyOf } from "./ledger/bytes.ts";
import { type EngineWasm, openChain } from "./ledger/chain.ts";
import { entryParts } from "./ledger/classic_entries.ts";
import { createClosing } from "./ledger/closing.ts";
import { parseEnvelope } from "./ledger/envelopes.ts";
import { createFaucet } from "./ledger/faucet.ts";
import { createMempool } from "./ledger/mempool.ts";
import type { AdjustSetting } from "./ledger/settings.ts";
import { simulate } from "./ledger/simulation.ts";
import { isTemporary, lastModifiedLedger, type LedgerView } from "./ledger/state.ts";
import type { StateFile } from "./ledger/state_file.ts";
import { createTicker, IDLE_MS, type Schedule, scheduleWithTimers } from "./ledger/ticker.ts";
import type {
  Advance,
  AppliedTransaction,
  ClosedLedger,
  HeldEntry,
  LaterEntry,
  Network,
  SimulateOutcome,
} from "./network_types.ts";
import { EVICTION_DELAY_LEDGERS } from "./ledger/protocol.ts";

export const SANDBOX_PASSPHRASE = "Standalone Sandbox Network ; 2026";

export interface NetworkOptions {
  engineWasm: EngineWasm;
  /** Default `SANDBOX_PASSPHRASE`, on a fork the passphrase of the other network. */
  passphrase?: string;
  /** Continues this network with its passphrase, settings and entries. Excludes a state file. */
  forkOf?: Remote;
  /**
   * The protocol of a new network. Default: that of the forked network, else the newest. A fork with another one goes on
   * with the host of that protocol, as after an upgrade. A state file keeps its own.
   */
  protocolVersion?: number;
  /** Milliseconds between ledgers, default 1000. With 0 a transaction closes a ledger at once; empty ones close every 5 s. */
  ledgerMs?: number;
  /** The machine's clock, Unix ms. `advance` moves the network's clock ahead of it. */
  now?: () => number;
  /** Default: timers. */
  schedule?: Schedule;
  /** Stores the ledger over restarts: path of a sqlite file, or another store. Default: none. */
  stateFile?: string | StateFile;
  /** Ledgers whose transactions and events are stored, default 17 280. */
  retentionLedgers?: number;
  /** Bound of the transaction queue, default 1 000. */
  queueLimit?: number;
  /** Default: the runtime's random generator. */
  randomBytes?: (length: number) => Uint8Array;
  /** Changes network settings (LedgerEntry each) of a new ledger. Default: those of the public network. */
  adjustSettings?: AdjustSetting;
  /** Called for every closed ledger. */
  onClose?: (ledger: ClosedLedger) => void;
  /** On a fork: called for an entry that the other network changed since, which is therefore of another moment. */
  onLaterEntry?: (entry: LaterEntry) => void;
  /** Called for a fault of the network that failed a transaction (txINTERNAL_ERROR). */
  onInternalError?: (error: unknown) => void;
  /**
   * Called when the state file cannot be written. No ledger closes then: the network retries, and transactions wait. Called
   * once until `onUnstuck`. Default: throws the error.
   */
  onStuck?: (error: SqliteError) => void;
  /** Called when ledgers close again. */
  onUnstuck?: () => void;
}

/** A network that also stores texts of its owner. */
export interface SandboxNetwork extends Network {
  /** The text under this name, also of an earlier process on the same state file. */
  recall(name: string): string | undefined;
  keep(name: string, text: string): void;
}

const STALE_SECONDS = 5;

/**
 * Starts a network of one validator with a ledger, checked envelopes and real contracts. It has no consensus and no
 * contention, so every ledger takes all transactions at the minimum fee. It lacks some classic operations, which
 * `ledger/classic/operations.ts` lists.
 * @throws {Error} for a state file of another network, and for a protocol without a host
 */
export async function createNetwork(options: NetworkOptions): Promise<SandboxNetwork> {
  const { forkOf, ledgerMs = 1_000, retentionLedgers = 17_280 } = options;
  const { passphrase = forkOf?.passphrase ?? SANDBOX_PASSPHRASE } = options;
  const later: LaterEntry[] = [];
  const fork = forkOf && createFork(forkOf, (key, ledger) => {
    const entry = { key: JSON.parse(chain.validator.engine.toJson("LedgerKey", [bytesOf(key)])[0]!), ledger };
    later.push(entry);
    options.onLaterEntry?.(entry);
  });
  const machineNow = options.now ?? Date.now;
  const randomBytes = options.randomBytes ?? secureRandom;
  const chain = await openChain({
    engineWasm: options.engineWasm,
    protocolVersion: options.protocolVersion,
    passphrase,
    startTime: Math.max(Math.floor(machineNow() / 1000), forkOf?.ledger.closeTime ?? 0),
    fork,
    retentionLedgers,
    stateFile: options.stateFile,
    adjustSettings: options.adjustSettings,
    onInternalError: options.onInternalError ?? (() => {}),
  });
  // Time that an earlier process moved stays moved.
  let aheadMs = Math.max(0, chain.tip().closeTime * 1000 - machineNow());
  const now = () => machineNow() + aheadMs;
  const reverts: number[] = [];
  const unixSeconds = () => Math.floor(now() / 1000);
  const onQueued = () => ticker.transactionArrived();
  const limit = options.queueLimit ?? 1_000;
  const mempool = createMempool({ chain, now, aheadMs: () => aheadMs, ledgerMs, limit, onQueued });
  const closing = createClosing({
    chain,
    mempool,
    ledgerMs,
    unixSeconds,
    onStuck: options.onStuck,
    onUnstuck: options.onUnstuck,
    onClose(ledger) {
      faucet.ledgerClosed();
      options.onClose?.(ledger);
    },
  });
  const faucet = createFaucet({
    passphrase,
    state: chain.state,
    simulate: simulateNow,
    submit: mempool.submit,
    whenClosed: closing.whenClosed,
  });

  function simulateNow(...[envelopeXdr, simulateOptions]: Parameters<Network["simulate"]>): SimulateOutcome {
    return simulate(chain.validator, chain.tip(), envelopeXdr, { ...simulateOptions, prngSeed: randomBytes(32) });
  }

  const schedule = options.schedule ?? scheduleWithTimers;
  const { hasWaiting } = mempool;
  const { close, onFailure } = closing;
  const ticker = createTicker({ ledgerMs, now: machineNow, schedule, close, onFailure, hasWaiting });

  function tryOut(envelopeXdr: Uint8Array): void {
    const envelope = parseEnvelope(envelopeXdr, chain.validator.networkId);
    chain.tryOut(envelope, Math.max(chain.tip().closeTime, unixSeconds()));
  }

  async function fundOnFork({ complete }: Fork, address: string, stroops?: bigint): Promise<AppliedTransaction> {
    await complete(() => {
      const payment = faucet.draft(address, stroops);
      if (payment !== undefined) tryOut(payment);
    });
    return await faucet.fund(address, stroops);
  }

  function advance(by: Advance): ClosedLedger {
    const plan = { paceMs: ledgerMs || IDLE_MS, nowMs: now(), latest: chain.tip().sequence };
    const { count, forMs, closeTimeOf } = planAdvance(by, plan);
    closing.closeAt(Math.max(chain.tip().closeTime, closeTimeOf(1)));
    if (count > 1) chain.skip(count - 1, (n) => closeTimeOf(n + 1));
    aheadMs += forMs;
    ticker.closedOtherwise();
    const ledger = chain.history.latestLedger();
    if (count > 1) options.onClose?.(ledger);
    return ledger;
  }

  function revert(name: string): ClosedLedger {
    const snapshot = chain.returnTo(name);
    aheadMs = snapshot.aheadMs;
    reverts.push(chain.tip().sequence);
    closing.dropQueued();
    return ticker.closeNow();
  }

  try {
    // Continue in the present after a pause, because a node with an old ledger counts as unhealthy.
    if (unixSeconds() - chain.tip().closeTime > STALE_SECONDS) ticker.closeNow();
  } catch (error) {
    ticker.stop();
    chain.close();
    throw error;
  }
  const { history } = chain;
  return {
    passphrase,
    protocolVersion: chain.validator.protocolVersion,
    ledgerMs,
    retentionLedgers,
    latestLedger: history.latestLedger,
    oldestLedger: history.oldestLedger,
    ledger: history.ledger,
    entry: (keyXdr) => heldEntry(chain.state, keyXdr, chain.tip().sequence),
    simulate: simulateNow,
    xdrToJson: (type, values) => chain.validator.engine.toJson(type, values),
    submit: mempool.submit,
    transaction: history.transaction,
    transactionsAfter: history.transactionsAfter,
    eventsAfter: history.eventsAfter,
    fees: history.fees,
    fund: fork === undefined ? faucet.fund : (address, stroops) => fundOnFork(fork, address, stroops),
    ...(fork && {
      fork: { ledger: fork.remote.ledger.sequence, laterEntries: () => later, complete: fork.complete, tryOut },
    }),
    closeLedger: ticker.closeNow,
    now,
    advance,
    snapshots: chain.snapshots,
    dropSnapshot: chain.dropSnapshot,
    snapshot(name) {
      chain.snapshot(name, aheadMs);
      return chain.history.latestLedger();
    },
    revert,
    reverts: () => reverts,
    impersonate: chain.validator.impersonation.start,
    stopImpersonating: chain.validator.impersonation.stop,
    impersonated: chain.validator.impersonation.addresses,
    recall: chain.recall,
    keep: chain.keep,
    stop() {
      ticker.stop();
      while (hasWaiting()) closing.dropQueued();
      chain.close();
      return Promise.resolve();
    },
  };
}

/** An evicted archived entry has `liveUntilLedger` 0, as at the real node. */
function heldEntry(state: LedgerView, keyXdr: Uint8Array, latest: number): HeldEntry | undefined {
  const key = keyOf(keyXdr);
  const held = state.get(key);
  if (!held) return undefined;
  const { entryXdr, liveUntilLedger } = held;
  const parts = { ...entryParts(entryXdr), lastModifiedLedger: lastModifiedLedger(held) };
  if (liveUntilLedger === undefined) return parts;
  const evicted = !isTemporary(key) && liveUntilLedger + EVICTION_DELAY_LEDGERS <= latest;
  return { ...parts, liveUntilLedger: evicted ? 0 : liveUntilLedger };
}

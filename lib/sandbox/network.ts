import { Asset, StrKey } from "@stellar/stellar-sdk";
import { loadEngine } from "./engine.ts";
import { checkEnvelope, createTransactionQueue, encounter } from "./ledger/admission.ts";
import { keyOf, sha256 } from "./ledger/bytes.ts";
import { type Chain, closeLedger, engineHeader } from "./ledger/close.ts";
import { checkTime } from "./ledger/envelope_checks.ts";
import { type Envelope, parseEnvelope } from "./ledger/envelopes.ts";
import { createFaucet } from "./ledger/faucet.ts";
import { putGenesis } from "./ledger/genesis.ts";
import { type LedgerTip, NOTHING, tipOf } from "./ledger/headers.ts";
import { createHistory } from "./ledger/history.ts";
import { transactionResult } from "./ledger/results.ts";
import { createSignatureVerifier } from "./ledger/signatures.ts";
import { simulate } from "./ledger/simulation.ts";
import { createResourceCheck, isSoroban } from "./ledger/soroban_checks.ts";
import { createLedgerState, EVICTION_DELAY_LEDGERS, isTemporary, type LedgerView, openChanges } from "./ledger/state.ts";
import { openStateFile, type StateFile } from "./ledger/state_file.ts";
import { createTicker, type Schedule, scheduleWithTimers } from "./ledger/ticker.ts";
import type { AppliedTransaction, ClosedLedger, HeldEntry, Network, SubmitOutcome } from "./network_types.ts";

export const SANDBOX_PASSPHRASE = "Standalone Sandbox Network ; 2026";

/** The protocol of the Soroban host in the engine; it accepts no other. */
export const PROTOCOL_VERSION = 28;

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
}

/** A network, and what its owner wants kept with it. */
export interface SandboxNetwork extends Network {
  /** A text that was kept under this name, also by an earlier process on the same state file. */
  recall(name: string): string | undefined;
  keep(name: string, text: string): void;
}

/**
 * Starts a network of one validator: a ledger, checked envelopes, real contracts. Everything but the consensus is as the
 * public network does it (README: what differs). Throws when the state file belongs to another network.
 */
export async function createNetwork(options: NetworkOptions): Promise<SandboxNetwork> {
  const passphrase = options.passphrase ?? SANDBOX_PASSPHRASE;
  const { ledgerMs = 1_000, now = Date.now, retentionLedgers = 17_280 } = options;
  const randomBytes = options.randomBytes ?? ((length) => crypto.getRandomValues(new Uint8Array(length)));
  const state = createLedgerState();
  const history = createHistory(retentionLedgers);
  const queue = createTransactionQueue(options.queueLimit ?? 1_000);
  const waiting = new Map<string, (transaction: AppliedTransaction | undefined) => void>();
  const kept = new Map<string, string>();
  const file = options.stateFile === undefined ? undefined : await openStateFile(options.stateFile, passphrase);

  let view: LedgerView = state;
  let tip: LedgerTip = NOTHING;
  const engine = await loadEngine(options.engineWasm, (key) => {
    const held = view.get(keyOf(key));
    return held && { entry: held.entryXdr, liveUntilLedger: held.liveUntilLedger ?? 0 };
  });
  const chain: Chain = {
    protocolVersion: PROTOCOL_VERSION,
    networkId: sha256(new TextEncoder().encode(passphrase)),
    nativeAsset: StrKey.decodeContract(Asset.native().contractId(passphrase)),
    engine,
    state,
    readFrom: (changes) => view = changes ?? state,
    verifySignature: createSignatureVerifier(),
    checkResources: createResourceCheck(engine, () => engineHeader(chain, tip, tip.closeTime)),
  };

  function adopt(closed: ReturnType<typeof closeLedger>) {
    file?.save(closed.record, closed.changes, retentionLedgers);
    state.commit(closed.changes);
    tip = closed.tip;
    return history.add(closed.record);
  }

  function start(held: StateFile | undefined) {
    const changes = openChanges(state);
    if (held?.load({ state, history, kept })) {
      tip = tipOf(history.latestLedger().headerXdr);
      return;
    }
    putGenesis(changes, passphrase, engine.defaultSettings(), options.adjustSettings);
    const genesis = closeLedger(chain, tip, [], Math.floor(now() / 1000));
    changes.commitTo(genesis.changes);
    adopt(genesis);
  }
  start(file);

  function nextCloseTime(): number {
    const seconds = Math.floor(now() / 1000);
    // Whole seconds: two ledgers of less than a second may share one, slower ones never do.
    return Math.max(tip.closeTime + (ledgerMs >= 1_000 ? 1 : 0), seconds);
  }

  function close(): ClosedLedger {
    const closeTime = nextCloseTime();
    const inTime = (envelope: Envelope) =>
      checkTime(envelope.inner, { closeTime, closeTimeSlack: 0, ledgerSequence: tip.sequence + 1 }) === undefined;
    const all = queue.takeAll();
    const applied = adopt(closeLedger(chain, tip, all.filter(inTime), closeTime));
    for (const transaction of applied) settle(transaction.hash, transaction);
    for (const { hash } of all) settle(hash, undefined);
    faucet.ledgerClosed();
    const ledger = history.latestLedger();
    options.onClose?.(ledger);
    return ledger;
  }

  function settle(hash: string, transaction: AppliedTransaction | undefined) {
    const callback = waiting.get(hash);
    waiting.delete(hash);
    callback?.(transaction);
  }

  const ticker = createTicker({
    ledgerMs,
    now,
    schedule: options.schedule ?? scheduleWithTimers,
    close,
    hasWaiting: () => queue.size > 0,
  });

  function submit(envelopeXdr: Uint8Array): SubmitOutcome {
    const envelope = parseEnvelope(envelopeXdr, chain.networkId);
    const { hash, inner } = envelope;
    const refuse = (resultXdr: Uint8Array): SubmitOutcome => {
      const diagnosticEventsXdr = isSoroban(inner) ? chain.checkResources(inner).diagnosticEvents : [];
      return { status: "ERROR", hash, resultXdr, diagnosticEventsXdr };
    };
    const met = encounter(envelope, queue.waitingOf(inner.source));
    if (met === "duplicate") return { status: "DUPLICATE", hash };
    if (met === "later") return { status: "TRY_AGAIN_LATER", hash };
    if (met === "bad_sequence") return refuse(transactionResult(0n, { code: "txBAD_SEQ", operationResults: [] }));
    if (typeof met === "object") {
      return refuse(transactionResult(met.feeNeeded, { code: "txINSUFFICIENT_FEE", operationResults: [] }));
    }
    if (met === "none" && queue.isFull()) return { status: "TRY_AGAIN_LATER", hash };

    const drift = Math.max(0, Math.floor(now() / 1000) - tip.closeTime);
    const refusal = checkEnvelope(
      envelope,
      {
        view: state,
        ledgerSequence: tip.sequence + 1,
        closeTime: tip.closeTime,
        closeTimeSlack: drift + Math.ceil(2 * ledgerMs / 1000),
        checkResources: chain.checkResources,
      },
      chain.verifySignature,
      queue.committedFees(envelope.feeSource),
    );
    if (refusal) return refuse(refusal);
    queue.put(envelope);
    ticker.transactionArrived();
    return { status: "PENDING", hash };
  }

  const faucet = createFaucet({
    passphrase,
    state,
    submit,
    whenClosed: (hash, callback) => void waiting.set(hash, callback),
  });

  return {
    passphrase,
    protocolVersion: PROTOCOL_VERSION,
    retentionLedgers,
    latestLedger: history.latestLedger,
    oldestLedger: history.oldestLedger,
    ledger: history.ledger,
    entry: (keyXdr) => heldEntry(state, keyXdr, tip.sequence),
    simulate(envelopeXdr, simulateOptions) {
      const closeTime = Math.max(tip.closeTime, Math.floor(now() / 1000));
      return simulate(chain, tip, closeTime, envelopeXdr, { ...simulateOptions, prngSeed: randomBytes(32) });
    },
    submit,
    transaction: history.transaction,
    transactionsAfter: history.transactionsAfter,
    eventsAfter: history.eventsAfter,
    fees: history.fees,
    fund: faucet.fund,
    closeLedger: () => ticker.closeNow(),
    recall: (name) => kept.get(name),
    keep(name, text) {
      kept.set(name, text);
      file?.keep(name, text);
    },
    stop() {
      ticker.stop();
      while (queue.size > 0) { for (const { hash } of queue.takeAll()) settle(hash, undefined); }
      file?.close();
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
  const dataXdr = entryXdr.subarray(4, entryXdr.length - 4);
  if (liveUntilLedger === undefined) return { dataXdr, lastModifiedLedger };
  const evicted = !isTemporary(key) && liveUntilLedger + EVICTION_DELAY_LEDGERS <= latest;
  return { dataXdr, lastModifiedLedger, liveUntilLedger: evicted ? 0 : liveUntilLedger };
}

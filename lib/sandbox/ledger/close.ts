import type { Engine } from "../engine.ts";
import { type Application, type ClosingLedger, resultOf } from "./application.ts";
import { applyTransaction } from "./apply.ts";
import { createXdrWriter, sha256, toHex } from "./bytes.ts";
import type { Envelope } from "./envelopes.ts";
import { chargeFee, inclusionFeePerOperation, refund } from "./fees.ts";
import { type LedgerTip, nextHeader, nextStateHash, resultSetHash, txSetXdr } from "./headers.ts";
import type { Impersonation } from "./impersonation.ts";
import type { LedgerRecord, TransactionRecord } from "./records.ts";
import { evictedKeys, transactionMeta } from "./meta.ts";
import type { SignatureRules } from "./signatures.ts";
import type { CheckResources } from "./soroban_checks.ts";
import { type LedgerChanges, type LedgerState, openChanges } from "./state.ts";
import { BASE_RESERVE } from "./protocol.ts";

/** The constant parts of a network. */
export interface Validator {
  protocolVersion: number;
  networkId: Uint8Array;
  nativeAsset: Uint8Array;
  engine: Engine;
  /** Makes the engine read from these changes, or from the closed ledger when undefined. */
  readFrom(changes: LedgerChanges | undefined): void;
  checkResources: CheckResources;
  signatureRules: SignatureRules;
  impersonation: Impersonation;
  state: LedgerState;
  onInternalError: (error: unknown) => void;
}

export interface Closed {
  tip: LedgerTip;
  record: LedgerRecord;
  changes: LedgerChanges;
}

/** The header of the ledger after `previous`, for the engine. */
export function engineHeader({ protocolVersion, networkId }: Validator, previous: LedgerTip, closeTime: number) {
  return { protocolVersion, networkId, closeTime, sequence: previous.sequence + 1, baseReserve: BASE_RESERVE };
}

/**
 * Builds the ledger after `previous` from the envelopes: fees, classic transactions, Soroban transactions, refunds, evictions.
 * It does not change the state. The caller commits `changes`.
 * @param evictSince the first ledger without its evictions, after skipped ledgers. Absent: this one
 */
export function closeLedger(
  validator: Validator,
  previous: LedgerTip,
  envelopes: Envelope[],
  closeTime: number,
  evictSince = previous.sequence + 1,
): Closed {
  const isSoroban = (envelope: Envelope) => envelope.inner.sorobanBody !== undefined;
  const ordered = [...envelopes.filter((e) => !isSoroban(e)), ...envelopes.filter(isSoroban)];
  const txSet = ordered.map((e) => ({ envelopeXdr: e.envelopeXdr, soroban: isSoroban(e) }));
  const txSetHash = sha256(txSetXdr(previous.hash, txSet));
  const changes = openChanges(validator.state);
  const ledger: ClosingLedger = {
    ...validator,
    header: engineHeader(validator, previous, closeTime),
    changes,
    txSetHash,
  };

  const applications = applyAll(validator, ordered, ledger);
  const evicted = evict(validator.state, changes, ledger.header.sequence, evictSince);
  const transactions = applications.map(record);
  const feePool = applications.reduce((sum, { feeCharged }) => sum + feeCharged, previous.feePool);
  const { headerXdr, tip } = nextHeader({
    protocolVersion: validator.protocolVersion,
    previous,
    closeTime,
    feePool,
    txSetHash,
    txSetResultHash: resultSetHash(transactions),
    stateHash: nextStateHash(previous.stateHash, changes),
  });
  const { sequence } = tip;
  const closed = { sequence, closeTime, hash: toHex(tip.hash), headerXdr, transactions, evictedKeys: evicted };
  return { tip, record: closed, changes };
}

function applyAll(validator: Validator, envelopes: Envelope[], ledger: ClosingLedger): Application[] {
  validator.readFrom(ledger.changes);
  try {
    const applications = envelopes.map((envelope) => chargeFee(envelope, ledger));
    for (const [index, application] of applications.entries()) applyTransaction(application, index, ledger);
    for (const application of applications) refund(application, ledger);
    return applications;
  } finally {
    validator.readFrom(undefined);
  }
}

/** Removes the temporary entries whose eviction is due, unless this ledger created them again. */
function evict(state: LedgerState, changes: LedgerChanges, sequence: number, since: number): Uint8Array[] {
  const keys = state.evictable(sequence, since).filter((key) =>
    (changes.get(key)?.liveUntilLedger ?? sequence) < sequence
  );
  for (const key of keys) changes.remove(key);
  return evictedKeys(keys);
}

const BEFORE_ALL_TRANSACTIONS = 0;
const AFTER_ALL_TRANSACTIONS = 2;

function record(application: Application): TransactionRecord {
  const { envelope, verdict, feeEventXdr, refundEventXdr } = application;
  const staged = (stage: number, eventXdr: Uint8Array) => createXdrWriter().uint32(stage).raw(eventXdr).finish();
  const { metaXdr, slices } = transactionMeta({
    changesBefore: application.changesBefore,
    operations: application.operations,
    ...(application.soroban && { soroban: application.soroban }),
    eventsXdr: [
      staged(BEFORE_ALL_TRANSACTIONS, feeEventXdr),
      ...(refundEventXdr ? [staged(AFTER_ALL_TRANSACTIONS, refundEventXdr)] : []),
    ],
    diagnosticEventsXdr: application.diagnosticEventsXdr,
  });
  return {
    hash: envelope.hash,
    ...(envelope.feeBump && { innerHash: toHex(envelope.inner.hash) }),
    successful: verdict.code === "txSUCCESS",
    soroban: envelope.inner.sorobanBody !== undefined,
    inclusionFee: inclusionFeePerOperation(envelope),
    envelopeXdr: envelope.envelopeXdr,
    resultXdr: resultOf(application),
    metaXdr,
    slices,
    feeChangesXdr: createXdrWriter().list(application.feeChanges).finish(),
    refundChangesXdr: createXdrWriter().list(application.refundChanges).finish(),
  };
}

import { canReceive, loadAccount, storeAccount, withFields } from "./accounts.ts";
import type { Application, ClosingLedger } from "./application.ts";
import { feeEvent } from "./asset_events.ts";
import { minimumInclusionFee } from "./envelope_checks.ts";
import type { Envelope } from "./envelopes.ts";
import { entryChanges } from "./meta.ts";
import { openChanges } from "./state.ts";

/** Charges the resource fee and the minimum inclusion fee, because a ledger here has no contention. */
export function chargeFee(envelope: Envelope, ledger: ClosingLedger): Application {
  const { sequence } = ledger.header;
  const changes = openChanges(ledger.changes);
  const minimum = minimumInclusionFee(envelope.operationCount);
  const inclusion = envelope.inclusionFee < minimum ? envelope.inclusionFee : minimum;
  const due = envelope.fullFee - envelope.inclusionFee + inclusion;
  const feeSource = loadAccount(changes, envelope.feeSource);
  const balance = feeSource?.balance ?? 0n;
  const feeCharged = due < balance ? due : balance;
  if (feeSource) storeAccount(changes, withFields(feeSource, { balance: balance - feeCharged }), sequence);
  const feeChanges = entryChanges(changes, sequence);
  changes.commitTo(ledger.changes);
  return {
    envelope,
    feeCharged,
    feeChanges,
    changesBefore: [],
    operations: [],
    verdict: { code: "txINTERNAL_ERROR", operationResults: [] },
    diagnosticEventsXdr: [],
    feeEventXdr: feeEvent(ledger.nativeAsset, envelope.feeSource, feeCharged),
    refundChanges: [],
  };
}

/** Refunds the rest of the refundable fee. Since protocol 23 this comes after all transactions of the ledger. */
export function refund(application: Application, ledger: ClosingLedger): void {
  const { envelope, soroban } = application;
  const declared = envelope.inner.sorobanData?.resourceFee ?? 0n;
  if (!soroban) return;
  const amount = declared - soroban.nonRefundableFee - soroban.refundableFee;
  const changes = openChanges(ledger.changes);
  const feeSource = loadAccount(changes, envelope.feeSource);
  if (amount <= 0n || !feeSource || !canReceive(feeSource, amount)) return;
  storeAccount(changes, withFields(feeSource, { balance: feeSource.balance + amount }), ledger.header.sequence);
  application.refundChanges = entryChanges(changes, ledger.header.sequence);
  application.refundEventXdr = feeEvent(ledger.nativeAsset, envelope.feeSource, -amount);
  application.feeCharged -= amount;
  changes.commitTo(ledger.changes);
}

/**
 * The inclusion fee of a transaction in stroops per operation, as stellar-rpc calculates it. A fee bump pays for one
 * operation more than it has.
 */
export function inclusionFeePerOperation({ inclusionFee, operationCount, inner }: Envelope): bigint {
  const minimum = minimumInclusionFee(operationCount);
  const charged = inclusionFee < minimum ? inclusionFee : minimum;
  return charged / BigInt(Math.max(1, inner.tx.operations.length));
}

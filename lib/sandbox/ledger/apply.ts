import type { xdr } from "@stellar/stellar-sdk";
import { loadAccount, storeAccount, withSequence } from "./accounts.ts";
import type { Application, ClosingLedger } from "./application.ts";
import { createXdrWriter, sameBytes, sha256 } from "./bytes.ts";
import { applyClassicOperation } from "./classic/operations.ts";
import type { OperationContext } from "./classic/operation.ts";
import { type CheckContext, checkTransaction, isPreAuthorized } from "./envelope_checks.ts";
import type { TransactionFrame } from "./envelopes.ts";
import { entryChanges, type OperationMeta, type SorobanMeta } from "./meta.ts";
import { checkOperationBody, checkOperationSignatures, operationSource, unjudged } from "./operation_checks.ts";
import { type Sponsorships, withoutSigners } from "./reserves.ts";
import { refusedOperation, type Verdict } from "./results.ts";
import { createSignatureChecker, type SignatureChecker } from "./signatures.ts";
import { type CheckResources, isSoroban, type SorobanFrame } from "./soroban_checks.ts";
import { applySorobanOperation } from "./soroban_operations.ts";
import { type LedgerChanges, openChanges } from "./state.ts";

/** Applies a transaction after its fee. Checks it again, because earlier transactions may have changed the ledger. */
export function applyTransaction(application: Application, index: number, ledger: ClosingLedger): void {
  const { envelope } = application;
  const { inner, feeBump } = envelope;
  const { sequence, closeTime } = ledger.header;
  const before = openChanges(ledger.changes);
  if (feeBump) removePreAuthorized(before, [envelope.feeSource], feeBump.hash, sequence);

  const context: CheckContext = {
    view: before,
    ledgerSequence: sequence,
    closeTime,
    closeTimeSlack: 0,
    checkResources: ledger.checkResources,
  };
  const signatures = createSignatureChecker(ledger.signatureRules, inner.hash, inner.signatures);
  const { stage, code } = checkTransaction(inner, context, signatures, { applying: true, paysFee: !feeBump });
  if (stage !== "invalid") useSequence(before, inner, sequence, closeTime);
  const refusal = stage === "valid" ? checkSignatures(inner, before, signatures) : { code, operationResults: [] };
  const sources = inner.tx.operations.map((operation) => operationSource(inner, operation));
  removePreAuthorized(before, [inner.source, ...sources], inner.hash, sequence);
  application.changesBefore = entryChanges(before, sequence);
  before.commitTo(ledger.changes);

  if (isSoroban(inner)) application.soroban = sorobanFees(inner, ledger.checkResources);
  if (refusal) application.verdict = refusal;
  else applyOperations(application, index, ledger);
}

/** An unexpected error fails only this transaction, whose changes are not committed. */
function applyOperations(application: Application, index: number, ledger: ClosingLedger): void {
  const { inner } = application.envelope;
  try {
    if (isSoroban(inner)) applySoroban(application, inner, index, ledger);
    else applyClassic(application, inner, ledger);
  } catch (error) {
    application.verdict = { code: "txINTERNAL_ERROR", operationResults: [] };
    ledger.onInternalError(error);
  }
}

function sorobanFees(frame: SorobanFrame, checkResources: CheckResources): SorobanMeta {
  return { nonRefundableFee: checkResources(frame).nonRefundableFee, refundableFee: 0n, rentFee: 0n };
}

function useSequence(changes: LedgerChanges, { source, tx }: TransactionFrame, ledger: number, closeTime: number) {
  const account = loadAccount(changes, source);
  if (account) storeAccount(changes, withSequence(account, tx.seqNum, ledger, closeTime), ledger);
}

/** A pre-authorised transaction is a signer, which any outcome of the transaction uses up. */
function removePreAuthorized(
  changes: LedgerChanges,
  accounts: Uint8Array[],
  hash: Uint8Array,
  ledgerSequence: number,
): void {
  for (const publicKey of accounts) {
    const account = loadAccount(changes, publicKey);
    if (!account || !isPreAuthorized(account, hash)) continue;
    const left = account.signers.filter(({ key }) =>
      key.type !== "signerKeyTypePreAuthTx" || !sameBytes(key.preAuthTx.value, hash)
    );
    storeAccount(changes, withoutSigners(account, left, { changes, ledgerSequence }), ledgerSequence);
  }
}

function checkSignatures(
  frame: TransactionFrame,
  view: LedgerChanges,
  signatures: SignatureChecker,
): Verdict | undefined {
  const { operations } = frame.tx;
  const refusals = operations.map((operation) => checkOperationSignatures(frame, operation, view, signatures));
  if (refusals.some((refusal) => refusal)) {
    const operationResults = operations.map((operation, i) => refusals[i] ?? unjudged(operation));
    return { code: "txFAILED", operationResults };
  }
  return signatures.allUsed() ? undefined : { code: "txBAD_AUTH_EXTRA", operationResults: [] };
}

/** Applies the operations in order. When one fails, none takes effect. */
function applyClassic(application: Application, frame: TransactionFrame, ledger: ClosingLedger): void {
  const { sequence, closeTime } = ledger.header;
  const transaction = openChanges(ledger.changes);
  const sponsorships: Sponsorships = new Map();
  const metas: OperationMeta[] = [];
  const operationResults: Uint8Array[] = [];
  let success = true;
  for (const [index, operation] of frame.tx.operations.entries()) {
    const changes = openChanges(transaction);
    const outcome = applyOne(frame, operation, {
      changes,
      sponsorships,
      source: operationSource(frame, operation),
      sourceAddress: operation.sourceAccount ?? frame.tx.sourceAccount,
      transactionSource: frame.source,
      transactionSequence: frame.tx.seqNum,
      index,
      memo: frame.tx.memo,
      ledgerSequence: sequence,
      closeTime,
      networkId: ledger.header.networkId,
    }, ledger.checkResources);
    operationResults.push(outcome.resultXdr);
    success &&= outcome.ok;
    metas.push({ changes: entryChanges(changes, sequence), eventsXdr: outcome.eventsXdr });
    if (outcome.ok) changes.commitTo(transaction);
  }
  application.verdict = success && sponsorships.size > 0
    ? { code: "txBAD_SPONSORSHIP", operationResults: [] }
    : { code: success ? "txSUCCESS" : "txFAILED", operationResults };
  if (application.verdict.code !== "txSUCCESS") return;
  application.operations = metas;
  transaction.commitTo(ledger.changes);
}

function applyOne(
  frame: TransactionFrame,
  operation: xdr.Operation,
  context: OperationContext,
  checkResources: CheckResources,
) {
  const refusal = loadAccount(context.changes, context.source)
    ? checkOperationBody(frame, operation, { checkResources })
    : refusedOperation("opNO_ACCOUNT");
  if (refusal) return { ok: false, resultXdr: refusal, eventsXdr: [] };
  return applyClassicOperation(operation.body, context);
}

function applySoroban(application: Application, frame: SorobanFrame, index: number, ledger: ClosingLedger): void {
  const operation = frame.tx.operations[0] as xdr.Operation;
  const source = operationSource(frame, operation);
  const refusal = loadAccount(ledger.changes, source)
    ? checkOperationBody(frame, operation, ledger)
    : refusedOperation("opNO_ACCOUNT");
  if (refusal) {
    application.verdict = { code: "txFAILED", operationResults: [refusal] };
    return;
  }
  const changes = openChanges(ledger.changes);
  const transactionSeed = sha256(ledger.txSetHash, createXdrWriter().int64(BigInt(index)).finish());
  const prngSeed = sha256(transactionSeed, createXdrWriter().int64(0n).finish());
  const done = applySorobanOperation(frame, {
    engine: ledger.engine,
    impersonation: ledger.impersonation,
    header: ledger.header,
    changes,
    source,
    prngSeed,
  });
  application.diagnosticEventsXdr = done.diagnosticEventsXdr;
  application.verdict = verdictOf(done.outcome, done.resultXdr);
  if (done.outcome !== "success") return;
  const { rentFee, eventsFee, returnValueXdr } = done;
  const fees = { refundableFee: rentFee + eventsFee, rentFee, ...(returnValueXdr && { returnValueXdr }) };
  application.soroban = { ...sorobanFees(frame, ledger.checkResources), ...fees };
  application.operations = [{ changes: entryChanges(changes, ledger.header.sequence), eventsXdr: done.eventsXdr }];
  changes.commitTo(ledger.changes);
}

function verdictOf(outcome: "success" | "failure" | "internal_error", resultXdr: Uint8Array): Verdict {
  if (outcome === "internal_error") return { code: "txINTERNAL_ERROR", operationResults: [] };
  return { code: outcome === "success" ? "txSUCCESS" : "txFAILED", operationResults: [resultXdr] };
}

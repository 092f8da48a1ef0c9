import { availableBalance, loadAccount } from "./accounts.ts";
import { keyOf } from "./bytes.ts";
import { type CheckContext, checkFeeBump, checkTransaction, hasSaneFees, minimumInclusionFee } from "./envelope_checks.ts";
import type { Envelope } from "./envelopes.ts";
import { checkOperations } from "./operation_checks.ts";
import { feeBumpResult, transactionResult, type TxCode, type Verdict } from "./results.ts";
import { createSignatureChecker, type VerifySignature } from "./signatures.ts";
import { hasCallableTarget, isSoroban } from "./soroban_checks.ts";

const plain = (code: TxCode): Verdict => ({ code, operationResults: [] });

/** The fee a result names that was made without charging one, as stellar-core does. */
function wouldCharge({ inner, operationCount }: Envelope): bigint {
  return (inner.sorobanBody ? inner.sorobanData?.resourceFee ?? 0n : 0n) + minimumInclusionFee(operationCount);
}

/**
 * Everything a validator checks before it lets an envelope into its queue (stellar-core's `checkValid` and what the queue
 * adds): the TransactionResult of the refusal, undefined when it may wait for the next ledger.
 * @param committed fees of what the fee source has waiting already, stroops
 */
export function checkEnvelope(
  envelope: Envelope,
  context: CheckContext,
  verifySignature: VerifySignature,
  committed: bigint,
): Uint8Array | undefined {
  if (!hasSaneFees(envelope) || envelope.inclusionFee < 0n) return transactionResult(0n, plain("txMALFORMED"));
  const feeCharged = wouldCharge(envelope);
  const { feeBump, inner } = envelope;
  if (feeBump) {
    const signatures = createSignatureChecker(verifySignature, feeBump.hash, feeBump.signatures);
    const refusal = checkFeeBump(envelope, context, signatures);
    if (refusal) return transactionResult(refusal.feeCharged ?? feeCharged, plain(refusal.code));
  }
  const verdict = checkInner(envelope, context, verifySignature);
  if (verdict) {
    return feeBump ? feeBumpResult(feeCharged, inner.hash, verdict) : transactionResult(feeCharged, verdict);
  }
  const feeSource = loadAccount(context.view, envelope.feeSource);
  if (!feeSource || availableBalance(feeSource) - envelope.fullFee < committed) {
    return transactionResult(feeCharged, plain("txINSUFFICIENT_BALANCE"));
  }
  if (isSoroban(inner) && !hasCallableTarget(inner)) return transactionResult(feeCharged, plain("txSOROBAN_INVALID"));
  return undefined;
}

function checkInner({ inner, feeBump }: Envelope, context: CheckContext, verify: VerifySignature): Verdict | undefined {
  const signatures = createSignatureChecker(verify, inner.hash, inner.signatures);
  const { stage, code } = checkTransaction(inner, context, signatures, { applying: false, paysFee: !feeBump });
  if (stage !== "valid") return plain(code);
  const operationResults = checkOperations(inner, context, signatures);
  if (operationResults) return { code: "txFAILED", operationResults };
  return signatures.allUsed() ? undefined : plain("txBAD_AUTH_EXTRA");
}

export type TransactionQueue = ReturnType<typeof createTransactionQueue>;

const REPLACEMENT_FACTOR = 10n;

/** The transactions that wait for the next ledger: at most one of each source account. */
export function createTransactionQueue(limit: number) {
  const bySource = new Map<string, Envelope>();
  const feesBySource = new Map<string, bigint>();

  function commitFee({ feeSource, fullFee }: Envelope, sign: 1n | -1n) {
    const key = keyOf(feeSource);
    const fees = (feesBySource.get(key) ?? 0n) + sign * fullFee;
    if (fees === 0n) feesBySource.delete(key);
    else feesBySource.set(key, fees);
  }

  return {
    get size() {
      return bySource.size;
    },
    isFull: () => bySource.size >= limit,
    waitingOf: (source: Uint8Array) => bySource.get(keyOf(source)),
    /** Fees the account has committed itself to, stroops. */
    committedFees: (feeSource: Uint8Array) => feesBySource.get(keyOf(feeSource)) ?? 0n,
    /** Adds an envelope in the place of what its source had waiting. */
    put(envelope: Envelope) {
      const key = keyOf(envelope.inner.source);
      const replaced = bySource.get(key);
      if (replaced) commitFee(replaced, -1n);
      bySource.set(key, envelope);
      commitFee(envelope, 1n);
    },
    /** Takes everything out, in order of arrival. */
    takeAll(): Envelope[] {
      const all = [...bySource.values()];
      bySource.clear();
      feesBySource.clear();
      return all;
    },
  };
}

export type Encounter = "none" | "duplicate" | "later" | "bad_sequence" | "replaces" | { feeNeeded: bigint };

/** What an envelope is to the one its source has waiting. Only a fee bump with ten times the fee takes its place. */
export function encounter(envelope: Envelope, waiting: Envelope | undefined): Encounter {
  if (!waiting) return "none";
  const innerIsWaiting = waiting.feeBump && !envelope.feeBump && keyOf(waiting.inner.hash) === keyOf(envelope.inner.hash);
  if (waiting.hash === envelope.hash || innerIsWaiting) return "duplicate";
  const [sequence, waitingSequence] = [envelope.inner.tx.seqNum, waiting.inner.tx.seqNum];
  if (sequence < waitingSequence) return "bad_sequence";
  if (!envelope.feeBump || sequence !== waitingSequence) return "later";
  const bid = envelope.inclusionFee * BigInt(Math.max(1, waiting.operationCount));
  const needed = REPLACEMENT_FACTOR * waiting.inclusionFee * BigInt(envelope.operationCount);
  if (bid >= needed) return "replaces";
  const perOperation = BigInt(Math.max(1, waiting.operationCount));
  const resourceFee = envelope.fullFee - envelope.inclusionFee;
  return { feeNeeded: resourceFee + (needed + perOperation - 1n) / perOperation };
}

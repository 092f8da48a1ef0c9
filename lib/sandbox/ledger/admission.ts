import { availableBalance, loadAccount } from "./accounts.ts";
import {
  type CheckContext,
  checkFeeBump,
  checkTransaction,
  hasSaneFees,
  minimumInclusionFee,
} from "./envelope_checks.ts";
import type { Envelope } from "./envelopes.ts";
import { checkOperations } from "./operation_checks.ts";
import { feeBumpResult, transactionResult, type TxCode, type Verdict } from "./results.ts";
import { createSignatureChecker, type VerifySignature } from "./signatures.ts";
import { type CheckResources, hasCallableTarget, isSoroban } from "./soroban_checks.ts";

const plain = (code: TxCode): Verdict => ({ code, operationResults: [] });

/** The fee a result names that was made without charging one, as stellar-core does. */
function wouldCharge({ inner, operationCount }: Envelope): bigint {
  return (inner.sorobanBody ? inner.sorobanData?.resourceFee ?? 0n : 0n) + minimumInclusionFee(operationCount);
}

/** The TransactionResult that refuses fees which make no sense, before anything else is looked at; undefined when they do. */
export function checkFees(envelope: Envelope): Uint8Array | undefined {
  const makeSense = hasSaneFees(envelope) && envelope.inclusionFee >= 0n;
  return makeSense ? undefined : transactionResult(0n, plain("txMALFORMED"));
}

/** The TransactionResult that refuses bad Soroban resources also where the account has to wait for its turn; else undefined. */
export function checkDeclared({ inner, feeBump }: Envelope, checkResources: CheckResources): Uint8Array | undefined {
  if (!isSoroban(inner) || checkResources(inner).verdict !== "soroban_invalid") return undefined;
  const verdict = plain("txSOROBAN_INVALID");
  return feeBump ? feeBumpResult(0n, inner.hash, verdict) : transactionResult(0n, verdict);
}

/**
 * Everything a validator checks of an envelope with fees that make sense before it lets it into its queue (stellar-core's
 * `checkValid` and what the queue adds): the TransactionResult of the refusal, undefined when it may wait for the next
 * ledger.
 * @param committed fees of what else the fee source has waiting, stroops
 */
export function checkEnvelope(
  envelope: Envelope,
  context: CheckContext,
  verifySignature: VerifySignature,
  committed: bigint,
): Uint8Array | undefined {
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

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
import { createSignatureChecker, type SignatureRules } from "./signatures.ts";
import { type CheckResources, hasCallableTarget, isSoroban } from "./soroban_checks.ts";

const plain = (code: TxCode): Verdict => ({ code, operationResults: [] });

/** The fee in a result without a charge, as in stellar-core. */
function wouldCharge({ inner, operationCount }: Envelope): bigint {
  return (inner.sorobanBody ? inner.sorobanData?.resourceFee ?? 0n : 0n) + minimumInclusionFee(operationCount);
}

/** The TransactionResult for impossible fees, which come before all other checks. Undefined for possible ones. */
export function checkFees(envelope: Envelope): Uint8Array | undefined {
  const arePossible = hasSaneFees(envelope) && envelope.inclusionFee >= 0n;
  return arePossible ? undefined : transactionResult(0n, plain("txMALFORMED"));
}

/** The TransactionResult for bad Soroban resources, which comes even before TRY_AGAIN_LATER. Else undefined. */
export function checkDeclared({ inner, feeBump }: Envelope, checkResources: CheckResources): Uint8Array | undefined {
  if (!isSoroban(inner) || checkResources(inner).verdict !== "soroban_invalid") return undefined;
  const verdict = plain("txSOROBAN_INVALID");
  return feeBump ? feeBumpResult(0n, inner.hash, verdict) : transactionResult(0n, verdict);
}

/**
 * Checks an envelope with possible fees as a validator does for its queue: stellar-core's `checkValid` and the checks of the
 * queue. Returns the TransactionResult of a refusal, else undefined.
 * @param committed fees of the fee source's other transactions in the queue, in stroops
 */
export function checkEnvelope(
  envelope: Envelope,
  context: CheckContext,
  rules: SignatureRules,
  committed: bigint,
): Uint8Array | undefined {
  const feeCharged = wouldCharge(envelope);
  const { feeBump, inner } = envelope;
  if (feeBump) {
    const signatures = createSignatureChecker(rules, feeBump.hash, feeBump.signatures);
    const refusal = checkFeeBump(envelope, context, signatures);
    if (refusal) return transactionResult(refusal.feeCharged ?? feeCharged, plain(refusal.code));
  }
  const verdict = checkInner(envelope, context, rules);
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

function checkInner({ inner, feeBump }: Envelope, context: CheckContext, rules: SignatureRules): Verdict | undefined {
  const signatures = createSignatureChecker(rules, inner.hash, inner.signatures);
  const { stage, code } = checkTransaction(inner, context, signatures, { applying: false, paysFee: !feeBump });
  if (stage !== "valid") return plain(code);
  const operationResults = checkOperations(inner, context, signatures);
  if (operationResults) return { code: "txFAILED", operationResults };
  return signatures.allUsed() ? undefined : plain("txBAD_AUTH_EXTRA");
}

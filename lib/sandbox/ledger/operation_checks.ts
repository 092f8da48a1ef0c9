import { xdr } from "@stellar/stellar-sdk";
import { accountOf, loadAccount } from "./accounts.ts";
import { checkClassicOperation } from "./classic/operations.ts";
import { changesSigners } from "./classic/set_options.ts";
import { type CheckContext, signersOf, type ThresholdLevel, thresholdOf } from "./envelope_checks.ts";
import { diagnosticError } from "./diagnostics.ts";
import type { TransactionFrame } from "./envelopes.ts";
import { OPERATION_TYPES, operationResult, refusedOperation, type SupportedOperation } from "./results.ts";
import type { SignatureChecker } from "./signatures.ts";
import { isSoroban } from "./soroban_checks.ts";
import { malformedOperation } from "./soroban_operations.ts";
import type { LedgerView } from "./state.ts";

/** The source of an operation: its own source account, else the transaction's. */
export function operationSource(frame: TransactionFrame, operation: xdr.Operation): Uint8Array {
  return operation.sourceAccount ? accountOf(operation.sourceAccount) : frame.source;
}

function levelOf(body: xdr.OperationBody): ThresholdLevel {
  switch (body.type) {
    case "allowTrust":
    case "setTrustLineFlags":
    case "claimClaimableBalance":
    case "bumpSequence":
    case "extendFootprintTtl":
    case "restoreFootprint":
      return "low";
    case "setOptions":
      return changesSigners(body.setOptionsOp) ? "high" : "medium";
    case "accountMerge":
      return "high";
    default:
      return "medium";
  }
}

const isSupported = (type: xdr.OperationBody["type"]): type is SupportedOperation => type in OPERATION_TYPES;

/** A pool's shares are a trustline that only pools need. */
const isOfPool = (body: xdr.OperationBody) =>
  body.type === "changeTrust" && body.changeTrustOp.line.type === "assetTypePoolShare";

/** The DiagnosticEvent of an operation that networks have and the sandbox has not; none for other envelopes. */
export function unsupportedEvents({ tx }: TransactionFrame): Uint8Array[] {
  const body = tx.operations.map(({ body }) => body)
    .find((body) => body.type !== "inflation" && (!isSupported(body.type) || isOfPool(body)));
  if (body === undefined) return [];
  const what = isOfPool(body) ? "a trustline for shares of a liquidity pool" : body.type;
  const message =
    `the sandbox does not support ${what}: it has no offers, path payments and liquidity pools. It supports ` +
    "contracts, accounts, payments, trustlines, claimable balances, sponsorship and clawback";
  return [diagnosticError(xdr.ScError.sceValue(xdr.ScErrorCode.scecInvalidInput), message)];
}

/** Bytes in the success arm of a result: a hash, a balance, the id of a claimable balance. */
const SUCCESS_BYTES: Partial<Record<SupportedOperation, number>> = {
  invokeHostFunction: 32,
  accountMerge: 8,
  createClaimableBalance: 36,
};

/** The result of an operation that was not checked yet: success with zeros, as in stellar-core. */
export function unjudged({ body }: xdr.Operation): Uint8Array {
  if (!isSupported(body.type)) return refusedOperation("opNOT_SUPPORTED");
  return operationResult(body.type, 0, new Uint8Array(SUCCESS_BYTES[body.type] ?? 0));
}

/**
 * Checks that an operation has enough signatures for its threshold. Returns the OperationResult of a refusal, else undefined.
 * An account that does not exist yet needs only its own signature.
 */
export function checkOperationSignatures(
  frame: TransactionFrame,
  operation: xdr.Operation,
  view: LedgerView,
  signatures: SignatureChecker,
): Uint8Array | undefined {
  const source = operationSource(frame, operation);
  const account = loadAccount(view, source);
  if (!account && !operation.sourceAccount) return refusedOperation("opNO_ACCOUNT");
  const good = account
    ? signatures.check(signersOf(account), thresholdOf(account, levelOf(operation.body)), source)
    : signatures.check([{ key: xdr.SignerKey.signerKeyTypeEd25519(source), weight: 1 }], 0, source);
  return good ? undefined : refusedOperation("opBAD_AUTH");
}

/** Checks an operation without the ledger. Returns the OperationResult of a refusal, else undefined. */
export function checkOperationBody(
  frame: TransactionFrame,
  operation: xdr.Operation,
  { checkResources }: Pick<CheckContext, "checkResources">,
): Uint8Array | undefined {
  if (isSoroban(frame)) {
    return checkResources(frame).verdict === "valid" ? undefined : malformedOperation(frame.sorobanBody);
  }
  return checkClassicOperation(operation.body, operationSource(frame, operation));
}

/** Runs both checks for every operation, up to the first refusal. Returns all OperationResults then, else undefined. */
export function checkOperations(
  frame: TransactionFrame,
  context: CheckContext,
  signatures: SignatureChecker,
): Uint8Array[] | undefined {
  const results = frame.tx.operations.map(unjudged);
  for (const [index, operation] of frame.tx.operations.entries()) {
    const refusal = !isSupported(operation.body.type)
      ? refusedOperation("opNOT_SUPPORTED")
      : checkOperationSignatures(frame, operation, context.view, signatures) ??
        checkOperationBody(frame, operation, context);
    if (!refusal) continue;
    results[index] = refusal;
    return results;
  }
  return undefined;
}

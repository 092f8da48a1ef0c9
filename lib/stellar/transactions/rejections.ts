import { GatewayError, type Retry } from "../../errors.ts";

/** A transaction that was applied and failed. It used its fee and its sequence number and changed nothing else. */
export interface LedgerFailure {
  hash: string;
  ledger: number;
  /** `resultCode` of its result. */
  code: string;
  /** Base64 DiagnosticEvents; empty when the node does not record them. */
  diagnosticEvents: string[];
}

/** The code of an invocation that failed with an error of a contract or of the host. */
export const TRAPPED = "invokeHostFunctionTrapped";

/** The code when a node rejects a transaction without a reason. */
export const UNNAMED = "ERROR";

const HINTS: Record<string, string> = {
  txFailed: "its operation failed, and the RPC node does not say why",
  txFeeBumpInnerFailed: "the transaction in the fee bump failed, and the RPC node does not say why",
  txMissingOperation: "it has no operation; submit what prepare answered",
  txNotSupported: "the network does not support a transaction of this type",
  txBadSponsorship: "it leaves a sponsorship unfinished; submit what prepare answered",
  txBadMinSeqAgeOrGap: "it is too soon after the account's last transaction; wait, and prepare again",
  txInternalError: "a node of the network failed; retry",
  txFrozenKeyAccessed:
    "validators have frozen a ledger entry that it needs; prepare the same operation to learn which one",
  txTooEarly: "its lower time bound has not been reached",
  txTooLate: "its time bound has passed; prepare again",
  txBadSeq: "its sequence number is not the next one of the source account; prepare again",
  txBadAuth: "a signature of the source account is missing, or was not made for this network and this transaction",
  txBadAuthExtra: "it carries a signature that is not needed",
  txInsufficientBalance: "the source account cannot pay the fee",
  txNoAccount: "the source account does not exist; it has to be funded first",
  txInsufficientFee: "its fee is too low; prepare again",
  txSorobanInvalid: "its resources are not what the network accepts; prepare again",
  txMalformed: "the network does not accept the form of its fee, bounds or operation; prepare again",
  invokeHostFunctionMalformed: "the invocation is malformed",
  invokeHostFunctionResourceLimitExceeded: "it needed more resources than were declared; prepare again",
  invokeHostFunctionEntryArchived: "it needed an archived entry; prepare again",
  invokeHostFunctionInsufficientRefundableFee: "its refundable fee was too low; prepare again",
  opBadAuth: "a signature of the operation's source account is missing",
  opNoAccount: "the operation's source account does not exist",
  opNotSupported: "the network does not support this operation at this time",
  opTooManySubentries: "the account has a thousand entries already",
  opExceededWorkLimit: "the operation did too much work",
  opTooManySponsoring: "the account sponsors too many entries",
  [TRAPPED]: "a contract or the host stopped the call, and the RPC node does not say why",
};

/** Codes that a new envelope for the same operation cures, or time alone. */
const RETRY: Record<string, Retry> = {
  txTooEarly: "same",
  txInternalError: "same",
  txMalformed: "prepare_again",
  txTooLate: "prepare_again",
  txBadSeq: "prepare_again",
  txInsufficientFee: "prepare_again",
  txSorobanInvalid: "prepare_again",
  txBadMinSeqAgeOrGap: "prepare_again",
  invokeHostFunctionResourceLimitExceeded: "prepare_again",
  invokeHostFunctionEntryArchived: "prepare_again",
  invokeHostFunctionInsufficientRefundableFee: "prepare_again",
};

/** The known codes of rejections and failures. */
export const REJECTIONS: readonly string[] = Object.keys(HINTS);

/** The error for a transaction that the network rejected: `invalid_request` with the code and what to do. */
export function rejection(code: string, hash: string, ledger?: number): GatewayError {
  const hint = HINTS[code] === undefined ? "" : ` (${HINTS[code]})`;
  const what = ledger === undefined ? "was rejected" : `failed in ledger ${ledger}`;
  return new GatewayError(
    code === "txInternalError" ? "upstream_error" : "invalid_request",
    `transaction ${hash} ${what}: ${code}${hint}`,
    { transactionError: code, retry: RETRY[code] ?? "never" },
  );
}

/** The error for an unknown outcome: 502 with the place to ask. */
export function outcomeUnknown(hash: string, why: string, cause?: unknown): GatewayError {
  const location = `/v1/transactions/${hash}`;
  return new GatewayError(
    "upstream_error",
    `the outcome of transaction ${hash} is not known: ${why}. Ask GET ${location}, or submit the same envelope again`,
    { headers: { Location: location }, cause },
  );
}

/** The error for a transaction that has ended with an outcome that no node knows any more. */
export function outcomeForgotten(hash: string): GatewayError {
  return new GatewayError(
    "invalid_request",
    `transaction ${hash} has ended, and its outcome is no longer known: the RPC node does not hold the ledgers of that time ` +
      "any more. Check in an archive, or by its effects, whether it was applied before you prepare it again",
  );
}

import { GatewayError, type Retry } from "../../errors.ts";

/** A transaction that was applied and failed: it took its fee and its sequence number, and changed nothing else. */
export interface LedgerFailure {
  hash: string;
  ledger: number;
  /** `resultCode` of its result. */
  code: string;
  /** Base64 DiagnosticEvents; empty when the node does not record them. */
  diagnosticEvents: string[];
}

/** The code of an invocation that ended in an error of a contract or of the host. */
export const TRAPPED = "invokeHostFunctionTrapped";

/** Where a node turns a transaction down and does not say why. */
export const UNNAMED = "ERROR";

const HINTS: Record<string, string> = {
  txTooEarly: "its lower time bound has not been reached",
  txTooLate: "its time bound has passed; prepare again",
  txBadSeq: "its sequence number is not the next one of the source account; prepare again",
  txBadAuth: "a signature of the source account is missing, or was not made for this network and this transaction",
  txBadAuthExtra: "it carries a signature that is not needed",
  txInsufficientBalance: "the source account cannot pay the fee",
  txNoAccount: "the source account does not exist; it has to be funded first",
  txInsufficientFee: "its fee is too low; prepare again",
  txSorobanInvalid: "its resources are not what the network accepts; prepare again",
  txMalformed: "its fee, its bounds or its operation are not of a form that the network takes; prepare again",
  invokeHostFunctionMalformed: "the invocation is malformed",
  invokeHostFunctionResourceLimitExceeded: "it needed more resources than were declared; prepare again",
  invokeHostFunctionEntryArchived: "it needed an archived entry; prepare again",
  invokeHostFunctionInsufficientRefundableFee: "its refundable fee was too low; prepare again",
  opBadAuth: "a signature of the operation's source account is missing",
  opNoAccount: "the operation's source account does not exist",
};

/** What another envelope for the same operation cures, and what time alone does. */
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

/** The names that are known of why the network does not apply a transaction. */
export const REJECTIONS: readonly string[] = [...new Set([...Object.keys(HINTS), ...Object.keys(RETRY), TRAPPED])];

/** The network turned a transaction down for its own sake: `invalid_request`, naming the code and what to do. */
export function rejection(code: string, hash: string, ledger?: number): GatewayError {
  const hint = HINTS[code] === undefined ? "" : ` (${HINTS[code]})`;
  const what = ledger === undefined ? "was rejected" : `failed in ledger ${ledger}`;
  return new GatewayError(
    code === "txInternalError" ? "upstream_error" : "invalid_request",
    `transaction ${hash} ${what}: ${code}${hint}`,
    { transactionError: code, retry: RETRY[code] ?? "never" },
  );
}

/** What became of a transaction can't be told yet: 502 that says where to ask. */
export function outcomeUnknown(hash: string, why: string, cause?: unknown): GatewayError {
  const location = `/v1/transactions/${hash}`;
  return new GatewayError(
    "upstream_error",
    `the outcome of transaction ${hash} is not known: ${why}; ask GET ${location}, or submit the same envelope again`,
    { headers: { Location: location }, cause },
  );
}

/** A transaction is over, and nobody can tell any more what became of it. */
export function outcomeForgotten(hash: string): GatewayError {
  return new GatewayError(
    "invalid_request",
    `transaction ${hash} is over, and its outcome can no longer be told: the RPC node does not hold the ledgers of its time ` +
      "any more; look whether it was applied (in an archive, or by what it would have changed) before preparing it again",
  );
}

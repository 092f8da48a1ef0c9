import { xdr } from "@stellar/stellar-sdk";
import type { AuthMode, Network, SimulateOutcome, StateChange } from "../network_types.ts";
import { fromBase64 } from "./base64.ts";
import type { Params } from "./json_rpc.ts";
import { readBoolean, readInteger, readObject, readString } from "./params.ts";
import { formatProblem, unlessEmpty, type XdrFormat, xdrFormat } from "./xdr_format.ts";

const AUTH_MODES: readonly string[] = ["enforce", "record", "record_allow_nonroot"] satisfies AuthMode[];

const MEMO_PROBLEM = "Transaction contains a memo. Soroban transactions do not support memos.";

/**
 * `simulateTransaction`: runs the only Soroban operation of an envelope. A wrong envelope or a failed run becomes
 * `result.error`. Only params of the wrong type are a JSON-RPC error.
 */
export function simulateTransaction(network: Network, params: Params) {
  const transaction = readString(params, "transaction");
  const authMode = readString(params, "authMode");
  const useUpgradedAuth = readBoolean(params, "useUpgradedAuth");
  const resourceConfig = readObject(params, "resourceConfig") ?? {};
  const instructionLeeway = readInteger(resourceConfig, "instructionLeeway", Number.MAX_SAFE_INTEGER);
  const wantedFormat = readString(params, "xdrFormat");
  const problem = formatProblem(wantedFormat) ?? envelopeProblem(transaction, authMode);
  if (problem) return { error: problem, latestLedger: 0 };

  const latestLedger = network.latestLedger().sequence;
  const outcome = network.simulate(fromBase64(transaction), {
    authMode: authMode === "" ? undefined : authMode as AuthMode,
    instructionLeeway,
    useUpgradedAuth,
  });
  const format = xdrFormat(network, wantedFormat);
  const events = unlessEmpty(outcome.diagnosticEventsXdr, (list) => format.list("events", "DiagnosticEvent", list));
  if (!outcome.ok) return { error: outcome.error, ...events, latestLedger };
  return { ...events, ...successFields(outcome, format), latestLedger };
}

function successFields(outcome: Extract<SimulateOutcome, { ok: true }>, format: XdrFormat) {
  const { transactionDataXdr, minResourceFee, result, restorePreamble, stateChanges } = outcome;
  const cost = (dataXdr: Uint8Array, fee: bigint) => ({
    ...format.one("transactionData", "SorobanTransactionData", dataXdr),
    minResourceFee: String(fee),
  });
  return {
    ...cost(transactionDataXdr, minResourceFee),
    results: result && [{
      ...format.list("auth", "SorobanAuthorizationEntry", result.authXdr),
      ...format.one("xdr", "ScVal", result.valueXdr, "returnValueJson"),
    }],
    restorePreamble: restorePreamble && cost(restorePreamble.transactionDataXdr, restorePreamble.minResourceFee),
    ...unlessEmpty(stateChanges, (changes) => ({ stateChanges: changes.map((change) => stateChange(change, format)) })),
  };
}

/** A missing entry, before or after, is null in both formats. */
function stateChange({ keyXdr, beforeXdr, afterXdr }: StateChange, format: XdrFormat) {
  return {
    type: beforeXdr === undefined ? "created" : afterXdr === undefined ? "deleted" : "updated",
    ...format.one("key", "LedgerKey", keyXdr),
    before: null,
    after: null,
    ...(beforeXdr && format.one("before", "LedgerEntry", beforeXdr)),
    ...(afterXdr && format.one("after", "LedgerEntry", afterXdr)),
  };
}

/** The real node's text for an envelope that it does not simulate. */
function envelopeProblem(transaction: string, authMode: string): string | undefined {
  let envelope: xdr.TransactionEnvelope;
  try {
    envelope = xdr.TransactionEnvelope.fromXdr(fromBase64(transaction));
  } catch {
    return "Could not unmarshal transaction";
  }
  const inner = envelope.type === "envelopeTypeTxFeeBump" ? envelope.feeBump.tx.innerTx.v1.tx : envelope.value.tx;
  if (!("operations" in inner) || inner.operations.length !== 1) return "Transaction contains more than one operation";
  const body = inner.operations[0]!.body;
  if (inner.memo.type !== "memoNone") return MEMO_PROBLEM;
  if (authMode !== "" && !AUTH_MODES.includes(authMode)) {
    return `optional 'authMode' must be one of ${AUTH_MODES.join(",")} when included`;
  }
  switch (body.type) {
    case "invokeHostFunction":
      return authMode.startsWith("record") && body.invokeHostFunctionOp.auth.length > 0
        ? `cannot set authMode to '${authMode}' with an auth footprint`
        : undefined;
    case "extendFootprintTtl":
    case "restoreFootprint":
      if (authMode !== "") return "cannot set authMode with non-InvokeHostFunction operations";
      return inner.ext.type === "v0"
        ? "To perform a SimulateTransaction for ExtendFootprintTtl or RestoreFootprint operations, " +
          "SorobanTransactionData must be provided"
        : undefined;
    default:
      return `transaction contains unsupported operation type: ${operationTypeName(body.type)}`;
  }
}

/** `createAccount` → `OperationTypeCreateAccount`, as the Go XDR package prints it. */
function operationTypeName(type: string): string {
  return `OperationType${type.charAt(0).toUpperCase()}${type.slice(1)}`;
}

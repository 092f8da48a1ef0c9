import { xdr } from "@stellar/stellar-sdk";
import type { AuthMode, Network, StateChange } from "../network_types.ts";
import { fromBase64, toBase64, toBase64List } from "./base64.ts";
import { INVALID_PARAMS, JsonRpcError, type Params } from "./json_rpc.ts";
import { formatProblem, readBoolean, readInteger, readObject, readString } from "./params.ts";

const AUTH_MODES: readonly string[] = ["enforce", "record", "record_allow_nonroot"] satisfies AuthMode[];

/**
 * `simulateTransaction`: runs the one Soroban operation of an envelope. Whatever is wrong with the envelope or its
 * run is `result.error`; only params of the wrong type are a JSON-RPC error.
 */
export function simulateTransaction(network: Network, params: Params) {
  const transaction = readString(params, "transaction");
  const authMode = readString(params, "authMode");
  const useUpgradedAuth = readBoolean(params, "useUpgradedAuth");
  const resourceConfig = readObject(params, "resourceConfig") ?? {};
  const instructionLeeway = readInteger(resourceConfig, "instructionLeeway", Number.MAX_SAFE_INTEGER);
  const format = readString(params, "xdrFormat");
  const badFormat = formatProblem(format);
  if (badFormat && format === "json") throw new JsonRpcError(INVALID_PARAMS, badFormat);

  const latestLedger = network.latestLedger().sequence;
  const problem = badFormat ?? envelopeProblem(transaction, authMode);
  if (problem) return { error: problem, latestLedger };
  const outcome = network.simulate(fromBase64(transaction), {
    authMode: authMode === "" ? undefined : authMode as AuthMode,
    instructionLeeway,
    useUpgradedAuth,
  });
  const events = outcome.diagnosticEventsXdr.length > 0 ? toBase64List(outcome.diagnosticEventsXdr) : undefined;
  if (!outcome.ok) return { error: outcome.error, events, latestLedger };
  return {
    transactionData: toBase64(outcome.transactionDataXdr),
    events,
    minResourceFee: String(outcome.minResourceFee),
    results: outcome.result &&
      [{ auth: toBase64List(outcome.result.authXdr), xdr: toBase64(outcome.result.valueXdr) }],
    restorePreamble: outcome.restorePreamble && {
      transactionData: toBase64(outcome.restorePreamble.transactionDataXdr),
      minResourceFee: String(outcome.restorePreamble.minResourceFee),
    },
    stateChanges: outcome.stateChanges.length > 0 ? outcome.stateChanges.map(stateChange) : undefined,
    latestLedger,
  };
}

function stateChange({ keyXdr, beforeXdr, afterXdr }: StateChange) {
  return {
    type: beforeXdr === undefined ? "created" : afterXdr === undefined ? "deleted" : "updated",
    key: toBase64(keyXdr),
    before: beforeXdr === undefined ? null : toBase64(beforeXdr),
    after: afterXdr === undefined ? null : toBase64(afterXdr),
  };
}

/** What keeps an envelope from being simulated at all, in the real node's words. */
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

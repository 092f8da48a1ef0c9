import { StrKey, xdr } from "@stellar/stellar-sdk/base";
import type { AppliedTransaction } from "../rpc/schemas.ts";
import type { ContractCall } from "./contract_call.ts";

/**
 * Why a transaction failed, by the network's name: of the operation if it has one (`invokeHostFunctionTrapped`,
 * `opBadAuth`), else of the transaction (`txBadSeq`, `txTooLate`, …).
 * @throws {Error} for anything but a TransactionResult
 */
export function resultCode(resultXdr: string): string {
  const { result } = xdr.TransactionResult.fromXdr(resultXdr, "base64");
  if (result.type === "txFeeBumpInnerFailed" || result.type === "txFeeBumpInnerSuccess") {
    const inner = result.innerResultPair.result.result;
    return inner.type === "txFailed" ? operationCode(inner.results) ?? inner.type : inner.type;
  }
  return result.type === "txFailed" ? operationCode(result.results) ?? result.type : result.type;
}

/** What a transaction cost, in stroops. @throws {Error} for anything but a TransactionResult */
export function feeCharged(resultXdr: string): string {
  return xdr.TransactionResult.fromXdr(resultXdr, "base64").feeCharged.toString();
}

function operationCode(results: xdr.OperationResult[]): string | undefined {
  const [operation] = results;
  if (operation === undefined) return undefined;
  if (operation.type !== "opInner") return operation.type;
  return operation.tr.type === "invokeHostFunction" ? operation.tr.invokeHostFunctionResult.type : operation.tr.type;
}

/** The events of the contracts of a transaction. */
export function contractEvents({ events }: AppliedTransaction): xdr.ContractEvent[] {
  return (events?.contractEventsXdr ?? []).flat().map((event) => xdr.ContractEvent.fromXdr(event, "base64"));
}

/** The calls that the host recorded for a transaction; empty when the node does not record them. */
export function calledDuring({ diagnosticEventsXdr = [] }: AppliedTransaction): ContractCall[] {
  return diagnosticEventsXdr.flatMap((encoded) => {
    const { event } = xdr.DiagnosticEvent.fromXdr(encoded, "base64");
    const { topics: [kind, contract, name], data } = event.body.v0;
    // By type, because a contract's own event may look the same.
    if (event.type.name !== "diagnostic" || kind?.type !== "scvSymbol" || kind.sym.toString() !== "fn_call") return [];
    if (contract?.type !== "scvBytes" || name?.type !== "scvSymbol") return [];
    // Several arguments come as a vector, a single one as itself.
    const args = data.type === "scvVec" ? data.vec ?? [] : [data];
    return [{ contract: StrKey.encodeContract(contract.bytes.value), function: name.sym.toString(), args }];
  });
}

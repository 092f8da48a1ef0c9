import { xdr } from "@stellar/stellar-sdk/base";
import type { TransactionAnswer } from "../rpc/schemas.ts";

/**
 * Why a transaction came to nothing, in the network's names: of the operation where it says one
 * (`invokeHostFunctionTrapped`, `opBadAuth`), else of the transaction (`txBadSeq`, `txTooLate`, …).
 * @throws {Error} for what is not a TransactionResult
 */
export function resultCode(resultXdr: string): string {
  const { result } = xdr.TransactionResult.fromXdr(resultXdr, "base64");
  if (result.type === "txFeeBumpInnerFailed" || result.type === "txFeeBumpInnerSuccess") {
    const inner = result.innerResultPair.result.result;
    return inner.type === "txFailed" ? operationCode(inner.results) ?? inner.type : inner.type;
  }
  return result.type === "txFailed" ? operationCode(result.results) ?? result.type : result.type;
}

function operationCode(results: xdr.OperationResult[]): string | undefined {
  const [operation] = results;
  if (operation === undefined) return undefined;
  if (operation.type !== "opInner") return operation.type;
  return operation.tr.type === "invokeHostFunction" ? operation.tr.invokeHostFunctionResult.type : operation.tr.type;
}

/** The base64 DiagnosticEvents of a transaction, wherever this node puts them; empty when it does not record them. */
export function diagnosticEvents(answer: TransactionAnswer): string[] {
  const listed = answer.diagnosticEventsXdr ?? answer.events?.diagnosticEventsXdr;
  if (listed !== undefined && listed.length > 0) return listed;
  if (answer.resultMetaXdr === undefined) return [];
  const meta = xdr.TransactionMeta.fromXdr(answer.resultMetaXdr, "base64");
  const events = meta.type === "v4"
    ? meta.v4.diagnosticEvents
    : meta.type === "v3"
    ? meta.v3.sorobanMeta?.diagnosticEvents ?? []
    : [];
  return events.map((event) => event.toXdr("base64"));
}

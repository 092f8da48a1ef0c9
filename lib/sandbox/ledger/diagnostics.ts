import { xdr } from "@stellar/stellar-sdk";

/** DiagnosticEvent of a refused envelope, as in stellar-core: topics "error" and the error, the text as data. */
export function diagnosticError(error: xdr.ScError, message: string): Uint8Array {
  const event = new xdr.ContractEvent({
    ext: xdr.ExtensionPoint.v0(),
    contractId: null,
    type: xdr.ContractEventType.diagnostic,
    body: xdr.ContractEventBody.v0(
      new xdr.ContractEventV0({
        topics: [xdr.ScVal.scvSymbol("error"), xdr.ScVal.scvError(error)],
        data: xdr.ScVal.scvString(message),
      }),
    ),
  });
  return new xdr.DiagnosticEvent({ inSuccessfulContractCall: false, event }).toXdr();
}

/** The number of the contract error in an invocation's DiagnosticEvents, undefined for an error of another kind. */
export function lastContractError(eventsXdr: Uint8Array[]): number | undefined {
  for (const encoded of eventsXdr.toReversed()) {
    const [kind, error] = xdr.DiagnosticEvent.fromXdr(encoded).event.body.v0.topics;
    if (kind?.type !== "scvSymbol" || kind.sym.toString() !== "error" || error?.type !== "scvError") continue;
    return error.error.type === "sceContract" ? error.error.contractCode : undefined;
  }
  return undefined;
}

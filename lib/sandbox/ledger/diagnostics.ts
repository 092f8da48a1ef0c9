import { xdr } from "@stellar/stellar-sdk";

/** DiagnosticEvent that tells why an envelope was refused, as stellar-core makes it: topics "error" and the error, the text as data. */
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

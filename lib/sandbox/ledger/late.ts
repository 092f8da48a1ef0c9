import { xdr } from "@stellar/stellar-sdk";
import { diagnosticError } from "./diagnostics.ts";
import { type CheckContext, checkTime } from "./envelope_checks.ts";
import type { TransactionFrame } from "./envelopes.ts";

/**
 * DiagnosticEvents for a transaction that is too late only because of an advance: SDKs count time bounds from the machine's
 * clock. A real network has no such event.
 * @param aheadSeconds how far the network's clock is ahead of the machine's
 */
export function lateByAdvance(
  frame: TransactionFrame,
  resultXdr: Uint8Array,
  bounds: Pick<CheckContext, "closeTime" | "closeTimeSlack" | "ledgerSequence">,
  aheadSeconds: number,
): Uint8Array[] {
  if (aheadSeconds === 0 || innermostCode(resultXdr) !== "txTooLate") return [];
  if (checkTime(frame, { ...bounds, closeTime: bounds.closeTime - aheadSeconds }) === "txTOO_LATE") return [];
  const message =
    `the network's time is ${aheadSeconds} seconds ahead of the machine's clock, from which SDKs count maxTime: ` +
    "count it from the latest ledger's close time, or set no time bound";
  return [diagnosticError(xdr.ScError.sceContext(xdr.ScErrorCode.scecInvalidInput), message)];
}

/** The result code, of the inner transaction in a fee bump. */
function innermostCode(resultXdr: Uint8Array): string {
  const { result } = xdr.TransactionResult.fromXdr(resultXdr);
  return "innerResultPair" in result ? result.innerResultPair.result.result.type : result.type;
}

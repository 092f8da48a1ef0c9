import { xdr } from "@stellar/stellar-sdk";
import { diagnosticError } from "./diagnostics.ts";
import { type CheckContext, checkTime } from "./envelope_checks.ts";
import type { TransactionFrame } from "./envelopes.ts";

/**
 * SDKs count a time bound from the machine's clock, which stays behind when time is advanced: DiagnosticEvents that say so
 * of a transaction that was refused as too late and by that clock is not. A real network has no such clock, and no such
 * event.
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
    `the network's time is ${aheadSeconds} seconds ahead of the machine's, from which SDKs count maxTime: ` +
    "count it from the latest ledger's close time, or set no time bound";
  return [diagnosticError(xdr.ScError.sceContext(xdr.ScErrorCode.scecInvalidInput), message)];
}

/** Of a fee bump whose inner transaction was judged, that one's. */
function innermostCode(resultXdr: Uint8Array): string {
  const { result } = xdr.TransactionResult.fromXdr(resultXdr);
  return "innerResultPair" in result ? result.innerResultPair.result.result.type : result.type;
}

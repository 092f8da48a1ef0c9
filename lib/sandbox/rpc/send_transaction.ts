import { xdr } from "@stellar/stellar-sdk";
import type { Network, SubmitOutcome } from "../network_types.ts";
import { fromBase64, toBase64, toBase64List } from "./base64.ts";
import { INVALID_PARAMS, JsonRpcError, type Params } from "./json_rpc.ts";
import { readString, requireBase64 } from "./params.ts";

/** `sendTransaction`: checks and queues an envelope; what the network refuses is an answer, not an error. */
export function sendTransaction(network: Network, params: Params) {
  const transaction = readString(params, "transaction");
  requireBase64(params);
  const latest = network.latestLedger();
  const outcome = submit(network, transaction);
  const refused = outcome.status === "ERROR" ? outcome : undefined;
  return {
    errorResultXdr: refused && toBase64(refused.resultXdr),
    diagnosticEventsXdr: refused?.diagnosticEventsXdr.length ? toBase64List(refused.diagnosticEventsXdr) : undefined,
    status: outcome.status,
    hash: outcome.hash,
    latestLedger: latest.sequence,
    latestLedgerCloseTime: String(latest.closeTime),
  };
}

function submit(network: Network, transaction: string): SubmitOutcome {
  let envelope: Uint8Array;
  try {
    envelope = fromBase64(transaction);
    xdr.TransactionEnvelope.fromXdr(envelope);
  } catch {
    throw new JsonRpcError(INVALID_PARAMS, "invalid_xdr");
  }
  return network.submit(envelope);
}

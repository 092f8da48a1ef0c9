import { xdr } from "@stellar/stellar-sdk";
import type { Network, SubmitOutcome } from "../network_types.ts";
import { fromBase64 } from "./base64.ts";
import { INVALID_PARAMS, JsonRpcError, type Params } from "./json_rpc.ts";
import { readString } from "./params.ts";
import { readXdrFormat, unlessEmpty } from "./xdr_format.ts";

/** `sendTransaction`: checks and queues an envelope. A refusal of the network is no JSON-RPC error. */
export function sendTransaction(network: Network, params: Params) {
  const transaction = readString(params, "transaction");
  const format = readXdrFormat(network, params);
  const latest = network.latestLedger();
  const outcome = submit(network, transaction);
  const refused = outcome.status === "ERROR" ? outcome : undefined;
  return {
    ...(refused && format.one("errorResultXdr", "TransactionResult", refused.resultXdr)),
    ...unlessEmpty(
      refused?.diagnosticEventsXdr ?? [],
      (events) => format.list("diagnosticEventsXdr", "DiagnosticEvent", events),
    ),
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

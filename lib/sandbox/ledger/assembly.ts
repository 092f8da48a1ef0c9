import { rpc, type Transaction } from "@stellar/stellar-sdk";
import type { Network } from "../network_types.ts";
import { lastContractError } from "./diagnostics.ts";

/** The transaction with the resources and authorisations of its simulation. Else the error, with its number if it is a contract's. */
export function assembled(
  network: Pick<Network, "simulate">,
  draft: Transaction,
): { transaction: Transaction } | { error: string; contractError?: number } {
  const simulated = network.simulate(draft.toEnvelope().toXdr(), {});
  if (!simulated.ok) {
    const { error, diagnosticEventsXdr } = simulated;
    return { error, contractError: lastContractError(diagnosticEventsXdr) };
  }
  const base64 = (bytes: Uint8Array) => bytes.toBase64();
  const { transactionDataXdr, minResourceFee, result } = simulated;
  const answer = {
    latestLedger: 0,
    id: "",
    events: [],
    transactionData: base64(transactionDataXdr),
    minResourceFee: minResourceFee.toString(),
    results: result ? [{ xdr: base64(result.valueXdr), auth: result.authXdr.map(base64) }] : [],
  };
  return {
    transaction: rpc.assembleTransaction(draft, answer as unknown as Parameters<typeof rpc.assembleTransaction>[1])
      .build(),
  };
}

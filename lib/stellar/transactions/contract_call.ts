import { Account, Operation, TransactionBuilder, type xdr } from "@stellar/stellar-sdk/base";
import { freshRead, type FreshReadParts } from "../fresh_read.ts";
import type { RawSimulation } from "../rpc/schemas.ts";
import type { RpcClient } from "../rpc/client.ts";

/** One invocation of a contract's function; arguments are positional. */
export interface ContractCall {
  /** `C…`. */
  contract: string;
  function: string;
  args: xdr.ScVal[];
  /** The calls that it makes on behalf of the caller; none when absent. */
  under?: ContractCall[];
}

/** The account whose key is all zeros. No one holds it, and the source of a simulation need not exist. */
export const NOBODY = "GAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAWHF";

export interface ContractCalls {
  /** Simulates a call. A failure of the contract is a result (`error`), not a rejection. */
  simulate(call: ContractCall, source?: string): Promise<RawSimulation>;
}

/** The envelope of a simulation: unsigned, without sequence number or bounds. */
export function simulationEnvelope(call: ContractCall, source: string, networkPassphrase: string): string {
  return new TransactionBuilder(new Account(source, "0"), {
    fee: "100",
    networkPassphrase,
    timebounds: { minTime: 0, maxTime: 0 },
  }).addOperation(Operation.invokeContractFunction(call)).build().toXdr();
}

/** Simulations against the newest ledger. */
export function createContractCalls(
  parts: FreshReadParts & {
    rpc: RpcClient;
    networkPassphrase: string;
  },
): ContractCalls {
  const { rpc, networkPassphrase } = parts;
  return {
    simulate(call, source = NOBODY) {
      const envelope = simulationEnvelope(call, source, networkPassphrase);
      return freshRead(parts, (options) => rpc.simulateTransaction(envelope, options));
    },
  };
}

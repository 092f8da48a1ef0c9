import { Account, Operation, TransactionBuilder, type xdr } from "@stellar/stellar-sdk/base";
import { freshRead, type FreshReadParts } from "../fresh_read.ts";
import type { RawLedgerEntry, RawSimulation } from "../rpc/schemas.ts";
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

/** A call of a prepare, or of a submitted envelope. */
export interface CallInEnvelope {
  call: ContractCall;
  /**
   * The accounts whose authorisation the envelope can carry: its source, and the signers of its entries. `G…` or `C…`.
   */
  authorisers: string[];
  /** The field of the request that holds them: `source` of a prepare, `xdr` of a submit. */
  param: "source" | "xdr";
}

/** A condition on ledger entries that has to hold before the gateway prepares or sends a call. */
export interface CallGuard {
  /** Base64 LedgerKeys, read in one call together with the account. */
  keys: string[];
  /**
   * Checks the entries of `keys`.
   * @throws {GatewayError} why the caller may not make the call; `upstream_error` when that is not known
   */
  check(entries: (RawLedgerEntry | undefined)[]): Promise<void>;
}

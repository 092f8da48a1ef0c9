import { GatewayError } from "../../errors.ts";
import type { ContractCall } from "../../stellar/transactions/contract_call.ts";
import type { Excess } from "../../stellar/transactions/footprint.ts";
import { type LedgerFailure, rejection } from "../../stellar/transactions/rejections.ts";
import type { RawSimulation } from "../../stellar/rpc/schemas.ts";
import {
  ASSET_CONTRACT_ERRORS,
  CONTRACT_ERRORS,
  type ContractIds,
  contractName,
  missingContract,
} from "../contracts/errors.ts";
import type { Explanations } from "./explanations.ts";
import { type ErrorTrace, type HostError, notSimulated, traceError } from "./error_trace.ts";

/** Another transaction changed the entries that this invocation needs after its simulation. */
export class OutsideFootprint extends GatewayError {
  constructor(message: string) {
    super("invalid_request", message, { retry: "prepare_again" });
  }
}

/** Whether a simulation or a ledger refused it. */
type Stage = "prepare" | "ledger";

export interface RefusalParts {
  contracts: ContractIds;
  /** Whether this contract is a built-in asset contract; false when unknown. */
  isAssetContract(contract: string): Promise<boolean>;
  explanations: Explanations;
}

export interface Refusals {
  /** The error for a call whose simulation failed. */
  ofSimulation(call: ContractCall, simulation: RawSimulation): Promise<GatewayError>;
  /** The error for a call above the network's limits. */
  ofExcess(call: ContractCall, excess: Excess): Promise<GatewayError>;
  /** The error for an invocation that failed in a ledger. */
  ofFailure(call: ContractCall | undefined, failure: LedgerFailure): Promise<GatewayError>;
}

/**
 * Turns failed invocations into errors for the client:
 * - `contract_refused`, with the error's name by the contract that raised it;
 * - `invalid_request`, where the client can change the request;
 * - `upstream_error`, where a contract is not the one that the settings name.
 */
export function createRefusals({ contracts, isAssetContract, explanations }: RefusalParts): Refusals {
  const named = (contract: string) => contractName(contracts, contract) ?? `contract ${contract}`;
  const shown = ({ contract, function: name }: { contract: string; function: string }) => `${named(contract)}.${name}`;

  /** The contract that raised an error, and the error's name; undefined where the name is unknown. */
  async function raised({ error, raisedBy }: ErrorTrace): Promise<{ by: string; name: string | undefined }> {
    const number = Number(error.code.slice(1));
    if (raisedBy === undefined) return { by: "contract", name: undefined };
    const ours = contractName(contracts, raisedBy);
    if (ours !== undefined) return { by: ours, name: CONTRACT_ERRORS[ours][number] };
    if (await isAssetContract(raisedBy)) {
      return { by: `asset contract ${raisedBy}`, name: ASSET_CONTRACT_ERRORS[number] };
    }
    return { by: named(raisedBy), name: undefined };
  }

  /** After a refusal in a ledger the envelope is used up, and a new one needs another nonce. */
  async function contractRefused(call: ContractCall, trace: ErrorTrace, stage: Stage): Promise<GatewayError> {
    const { by, name } = await raised(trace);
    const { code } = trace.error;
    const why = name === undefined ? undefined : await explanations.ofRefusal(call, name, trace.detail);
    const ending = (name === undefined ? "" : ` (${name})`) + (why === undefined ? "" : `: ${why.words}`);
    return new GatewayError("contract_refused", `${shown(call)} refused: ${by} error ${code}${ending}`, {
      contractError: name ?? code,
      reason: why?.reason,
      param: stage === "prepare" ? why?.param : undefined,
      retry: name === "DuplicateAuth" && stage === "ledger" ? "prepare_again" : "never",
    });
  }

  /** The refusal for an invocation that the host ended, not a contract's own error. */
  async function hostRefused(call: ContractCall, trace: ErrorTrace): Promise<GatewayError> {
    const { error, detail } = trace;
    const during = trace.call ?? call;
    const ours = contractName(contracts, during.contract);
    const words = `Error(${error.type}, ${error.code})${detail === "" ? "" : `: ${detail}`}`;
    if (lacksContract(error, detail)) {
      return ours === undefined
        ? new GatewayError("invalid_request", `contract ${during.contract} does not exist on this network`)
        : missingContract(ours, during.contract);
    }
    if (lacksFunction(error, detail)) {
      const text = `${ours ?? "contract"} ${during.contract} has no function ${during.function}`;
      // Only assets have `transfer`: the client named the wrong contract, not the operator.
      return ours === undefined || during.function === "transfer"
        ? new GatewayError("invalid_request", text)
        : new GatewayError("upstream_error", `${text}: it is not the contract it should be`);
    }
    if (outsideFootprint(error)) {
      return new OutsideFootprint(
        `${shown(call)} failed because another transaction changed its entries; prepare again (${words})`,
      );
    }
    if (error.type === "Budget" || error.code === "ExceededLimit") return await tooLarge(call, words);
    if (error.type === "Auth") {
      return new GatewayError("invalid_request", `${shown(call)} lacks a required authorisation (${words})`);
    }
    return new GatewayError("contract_refused", `${shown(call)} refused: ${shown(during)} trapped with ${words}`, {
      contractError: `${error.type}.${error.code}`,
    });
  }

  async function tooLarge(call: ContractCall, words: string, excess?: Excess): Promise<GatewayError> {
    const why = await explanations.ofSize(call, excess);
    const message = `${shown(call)} needs more than the network allows one transaction (${words})`;
    return new GatewayError("invalid_request", why === undefined ? message : `${message}: ${why}`);
  }

  async function explained(call: ContractCall, trace: ErrorTrace, stage: Stage): Promise<GatewayError> {
    return trace.error.type === "Contract" ? await contractRefused(call, trace, stage) : await hostRefused(call, trace);
  }

  return {
    async ofSimulation(call, { error = "", events = [] }) {
      const trace = traceError(events, error);
      return trace === undefined ? notSimulated(error, shown(call)) : await explained(call, trace, "prepare");
    },
    ofExcess: (call, excess) => tooLarge(call, excess.words, excess),
    async ofFailure(call, failure) {
      const trace = readableTrace(failure.diagnosticEvents);
      if (call !== undefined && trace !== undefined) return await explained(call, trace, "ledger");
      if (call === undefined) return rejection(failure.code, failure.hash, failure.ledger);
      return new GatewayError(
        "contract_refused",
        `${shown(call)} failed in ledger ${failure.ledger} (${failure.code}); the RPC node does not say why`,
        { transactionError: failure.code },
      );
    },
  };
}

/** Undefined also for unreadable events, such as those of a newer protocol: the call failed in either case. */
function readableTrace(events: string[]): ErrorTrace | undefined {
  try {
    return traceError(events);
  } catch {
    return undefined;
  }
}

/** Whether the host found no instance of the called contract. */
function lacksContract({ type, code }: HostError, detail: string): boolean {
  return type === "Storage" && code === "MissingValue" && /instance/.test(detail);
}

function lacksFunction({ type, code }: HostError, detail: string): boolean {
  return code === "MissingValue" && (type === "WasmVm" || (type === "Context" && /function/.test(detail)));
}

function outsideFootprint({ type, code }: HostError): boolean {
  return type === "Storage" && code === "ExceededLimit";
}

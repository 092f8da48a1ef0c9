import { xdr } from "@stellar/stellar-sdk/base";
import { GatewayError } from "../../errors.ts";
import type { RawSimulation } from "../rpc/schemas.ts";
import type { ContractCall } from "./contract_call.ts";
import { callOf, credentialsAddress } from "./envelope.ts";
import { nodeXdr } from "./node_xdr.ts";

/**
 * Returns the authorisation entries of a simulation, for the envelope. The source's signature covers them, so they may
 * hold only the call and the calls under it (`under`). Otherwise the signer of a claim would also sign what the token
 * asks for.
 * @throws {GatewayError} `invalid_request` when another account has to authorise it, or an entry holds more
 */
export function authorisationsOf(
  call: ContractCall,
  source: string,
  simulation: RawSimulation,
): xdr.SorobanAuthorizationEntry[] {
  const encoded = simulation.results?.[0]?.auth ?? [];
  const entries = nodeXdr("auth", () => encoded.map((one) => xdr.SorobanAuthorizationEntry.fromXdr(one, "base64")));
  for (const { credentials } of entries) {
    const who = credentialsAddress(credentials);
    if (who !== undefined) throw anothers(call, source, who);
  }
  for (const { rootInvocation } of entries) {
    const more = beyond(rootInvocation, [call]);
    if (more !== undefined) throw beyondTheCall(call, source, more);
  }
  return entries;
}

/** The first authorised call that is neither one of these nor one under them. */
function beyond(
  { function: authorised, subInvocations }: xdr.SorobanAuthorizedInvocation,
  expected: ContractCall[],
): string | undefined {
  if (authorised.type !== "sorobanAuthorizedFunctionTypeContractFn") return "a new contract";
  const call = callOf(authorised.contractFn);
  const found = expected.find((one) => isSame(one, call));
  if (found === undefined) return `${call.function} of ${call.contract}`;
  for (const below of subInvocations) {
    const more = beyond(below, found.under ?? []);
    if (more !== undefined) return more;
  }
  return undefined;
}

function isSame(a: ContractCall, b: ContractCall): boolean {
  return a.contract === b.contract && a.function === b.function && a.args.length === b.args.length &&
    a.args.every((arg, at) => arg.toXdr("base64") === b.args[at]!.toXdr("base64"));
}

/** The gateway never returns an envelope that needs another signature than its source's. */
function anothers({ function: name }: ContractCall, source: string, who: string): GatewayError {
  return new GatewayError(
    "invalid_request",
    who.startsWith("G")
      ? `source must be ${who}, which has to authorise ${name}; got ${source}`
      : `${name} has to be authorised by ${who}, which is no account and can't be the source; got ${source}`,
    { param: "source" },
  );
}

function beyondTheCall({ function: name }: ContractCall, source: string, more: string): GatewayError {
  return new GatewayError(
    "invalid_request",
    `${name} would have ${source} authorise ${more}, too. A contract that it calls, such as the asset's, does more than it should; ` +
      "the source may sign the operation alone",
  );
}

import { xdr } from "@stellar/stellar-sdk/base";
import { GatewayError } from "../../errors.ts";
import type { RawSimulation } from "../rpc/schemas.ts";
import type { ContractCall } from "./contract_call.ts";
import { callOf, credentialsAddress } from "./envelope.ts";
import { nodeXdr } from "./node_xdr.ts";

/**
 * What a simulation found that has to be authorised, for the envelope: the source's signature carries it, and it is the call
 * with what belongs to it (`under`), nothing more. Whoever signs a claim would sign with it what its token asks for.
 * @throws {GatewayError} `invalid_request` where somebody else has to authorise it, or more is asked for
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

/** What is authorised there beside these calls and those under them. */
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

/** An envelope that its source's signature can't carry is never handed out. */
function anothers({ function: name }: ContractCall, source: string, who: string): GatewayError {
  return new GatewayError(
    "invalid_request",
    who.startsWith("G")
      ? `source must be ${who}, who has to authorise ${name}; got ${source}`
      : `${name} has to be authorised by ${who}, which is no account and can't be the source; got ${source}`,
    { param: "source" },
  );
}

function beyondTheCall({ function: name }: ContractCall, source: string, more: string): GatewayError {
  return new GatewayError(
    "invalid_request",
    `${name} would have ${source} authorise ${more}, too: a contract that it calls, as the asset's, does more than it should, ` +
      "and what is signed here must be the operation alone",
  );
}

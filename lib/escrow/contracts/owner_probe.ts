import { GatewayError } from "../../errors.ts";
import { type ContractCalls, NOBODY } from "../../stellar/transactions/contract_call.ts";
import { contractCall } from "../operations/operations.ts";
import type { ContractIds } from "./errors.ts";

/**
 * Whether the agent registry lets any wallet register an agent for any card. Simulates that with an unregistered card and
 * an account without a known key.
 * @throws {GatewayError} `upstream_error` when the node fails
 */
export async function isOpenToStrangers(
  { calls, contracts, unknownCard }: { calls: ContractCalls; contracts: ContractIds; unknownCard: string },
): Promise<boolean> {
  const call = contractCall(contracts, NOBODY, {
    kind: "registerAgent",
    deviceHash: unknownCard,
    agent: NOBODY,
    asset: contracts.paymentEscrow,
    maxAmount: "1",
    expiresAt: null,
  });
  const { error } = await calls.simulate(call, NOBODY);
  if (error === undefined) return true;
  if (/Error\(Contract, #\d+\)/.test(error)) return false;
  throw new GatewayError("upstream_error", "the RPC node could not simulate agent_registry.register_agent");
}

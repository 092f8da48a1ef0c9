import { GatewayError } from "../../errors.ts";
import { type ContractCalls, NOBODY } from "../../stellar/transactions/contract_call.ts";
import { contractCall } from "../operations/operations.ts";
import type { ContractIds } from "./errors.ts";

/**
 * Whether the agent registry lets anybody register an agent for any card. It simulates that for a card without an owner
 * and an account that does not exist.
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

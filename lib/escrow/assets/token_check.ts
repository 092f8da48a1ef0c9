import { createRecentMap } from "../../bounded_map.ts";
import type { ContractCalls } from "../../stellar/transactions/contract_call.ts";
import type { RawLedgerEntry } from "../../stellar/rpc/schemas.ts";
import { asCode, asU32, entryValue, returnedValue } from "../decode.ts";
import { requireHostError } from "../refusals/error_trace.ts";

/**
 * Returns whether the contract with this instance is a token: a built-in asset contract, or one with `decimals()` (SEP-41).
 * @throws {GatewayError} `upstream_error` when the node fails
 */
export type TokenCheck = (contract: string, instance: RawLedgerEntry) => Promise<boolean>;

const MAX_KEPT = 1_000;

/** Simulates `decimals()` of contracts that are not built in, and caches each token it finds. */
export function createTokenCheck(calls: ContractCalls): TokenCheck {
  const tokens = createRecentMap<true>(MAX_KEPT);

  async function saysDecimals(contract: string): Promise<boolean> {
    const { error, results } = await calls.simulate({ contract, function: "decimals", args: [] });
    if (error !== undefined) requireHostError(error, `decimals() of ${contract}`);
    if (error !== undefined || results?.[0] === undefined) return false;
    try {
      returnedValue(results[0].xdr, asU32);
      return true;
    } catch {
      return false;
    }
  }

  return async function isToken(contract, instance) {
    if (entryValue(instance.xdr, asCode) === "asset" || tokens.get(contract) === true) return true;
    const isOne = await saysDecimals(contract);
    if (isOne) tokens.set(contract, true);
    return isOne;
  };
}

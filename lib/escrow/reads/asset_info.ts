import { scValToNative } from "@stellar/stellar-sdk/base";
import { createRecentMap } from "../../bounded_map.ts";
import { GatewayError } from "../../errors.ts";
import type { ContractCalls } from "../../stellar/transactions/contract_call.ts";
import { asU32, type Decode, returnedValue } from "../decode.ts";
import { requireHostError } from "../refusals/error_trace.ts";

/** The description that an asset's contract gives of itself (SEP-41). */
export interface AssetInfo {
  /** Its contract, `C…`. */
  asset: string;
  /** `native` for the network's own, the code of an issued one. Anybody's text for a token of anybody's. */
  symbol: string;
  name: string;
  /** Digits after the point in one unit: amounts count the smallest part. 7 for all of the protocol's own. */
  decimals: number;
}

/**
 * Reads an asset's description.
 * @throws {GatewayError} `not_found` where there is no token, `upstream_error` when the node fails
 */
export type AssetReader = (asset: string) => Promise<AssetInfo>;

/** So many are kept: a token does not change its name. */
const MAX_KEPT = 1_000;
/** A token may say what it likes, UTF-8 or not; so many letters of it are passed on. */
const MAX_LETTERS = 64;

const asText: Decode<string> = (value) => {
  if (value.type !== "scvString") throw new TypeError(`expected String, got ${value.type}`);
  const said: string | Uint8Array = scValToNative(value);
  const text = typeof said === "string" ? said : new TextDecoder().decode(said);
  return [...text].slice(0, MAX_LETTERS).join("");
};

export function createAssetReader(calls: ContractCalls): AssetReader {
  const known = createRecentMap<AssetInfo>(MAX_KEPT);

  async function said<T>(contract: string, getter: string, decode: Decode<T>): Promise<T> {
    const { error, results } = await calls.simulate({ contract, function: getter, args: [] });
    if (error === undefined && results?.[0] !== undefined) return returnedValue(results[0].xdr, decode);
    if (error !== undefined) requireHostError(error, `${getter}() of ${contract}`);
    throw new GatewayError("not_found", `${contract} is no token on this network: it does not answer ${getter}()`);
  }

  return async function assetInfo(asset) {
    const cached = known.get(asset);
    if (cached !== undefined) return cached;
    const [symbol, name, decimals] = await Promise.all([
      said(asset, "symbol", asText),
      said(asset, "name", asText),
      said(asset, "decimals", asU32),
    ]);
    const info = { asset, symbol, name, decimals };
    known.set(asset, info);
    return info;
  };
}

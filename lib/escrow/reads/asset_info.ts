import { scValToNative } from "@stellar/stellar-sdk/base";
import { createRecentMap } from "../../bounded_map.ts";
import { GatewayError } from "../../errors.ts";
import type { RawLedgerEntry } from "../../stellar/rpc/schemas.ts";
import type { ContractCalls } from "../../stellar/transactions/contract_call.ts";
import { asExecutable, asU32, type Decode, entryValue, returnedValue } from "../decode.ts";
import { requireHostError } from "../refusals/error_trace.ts";

/** Symbol, name and decimals of an asset, from its contract (SEP-41). */
export interface AssetInfo {
  /** Its contract, `C…`. */
  asset: string;
  /** `native` for lumens, the code of a classic asset, any text for another token. */
  symbol: string;
  name: string;
  /** Digits after the decimal point. Amounts count the smallest unit. 7 for lumens and classic assets. */
  decimals: number;
}

/**
 * Reads symbol, name and decimals of an asset.
 * @throws {GatewayError} `not_found` when the contract is no token, `upstream_error` when the node fails
 */
export type AssetReader = (asset: string) => Promise<AssetInfo>;

/** The number of cached assets, without a time limit: a token does not change its name. */
const MAX_KEPT = 1_000;
/** A token may return any text, UTF-8 or not; the gateway passes this many letters on. */
const MAX_LETTERS = 64;

const asText: Decode<string> = (value) => {
  if (value.type !== "scvString") throw new TypeError(`expected String, got ${value.type}`);
  const said: string | Uint8Array = scValToNative(value);
  const text = typeof said === "string" ? said : new TextDecoder().decode(said);
  return [...text].slice(0, MAX_LETTERS).join("");
};

export function createAssetReader(calls: ContractCalls): AssetReader {
  const known = createRecentMap<AssetInfo>(MAX_KEPT);

  async function required<T>(contract: string, getter: string, decode: Decode<T>): Promise<T> {
    const found = await said(calls, contract, getter, decode);
    if (found !== undefined) return found;
    throw new GatewayError("not_found", `${contract} is no token on this network: it has no ${getter}()`);
  }

  return async function assetInfo(asset) {
    const cached = known.get(asset);
    if (cached !== undefined) return cached;
    const [symbol, name, decimals] = await Promise.all([
      required(asset, "symbol", asText),
      required(asset, "name", asText),
      required(asset, "decimals", asU32),
    ]);
    const info = { asset, symbol, name, decimals };
    known.set(asset, info);
    return info;
  };
}

/**
 * Returns whether the contract with this instance is a token: a built-in asset contract, or one with `decimals()` (SEP-41).
 * @throws {GatewayError} `upstream_error` when the node fails
 */
export type TokenCheck = (contract: string, instance: RawLedgerEntry) => Promise<boolean>;

/** Simulates `decimals()` of contracts that are not built in, and caches each token it finds. */
export function createTokenCheck(calls: ContractCalls): TokenCheck {
  const tokens = createRecentMap<true>(MAX_KEPT);
  return async function isToken(contract, instance) {
    if (entryValue(instance.xdr, asExecutable).kind === "asset" || tokens.get(contract) === true) return true;
    const isOne = await said(calls, contract, "decimals", ({ type }) => type === "scvU32") ?? false;
    if (isOne) tokens.set(contract, true);
    return isOne;
  };
}

/** The value of a getter without arguments, undefined when the contract has none. */
async function said<T>(
  calls: ContractCalls,
  contract: string,
  getter: string,
  decode: Decode<T>,
): Promise<T | undefined> {
  const { error, results } = await calls.simulate({ contract, function: getter, args: [] });
  if (error !== undefined) requireHostError(error, `${getter}() of ${contract}`);
  const returned = error === undefined ? results?.[0] : undefined;
  return returned && returnedValue(returned.xdr, decode);
}

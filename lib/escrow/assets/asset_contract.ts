import { Asset, scValToNative } from "@stellar/stellar-sdk/base";
import type { RawLedgerEntry } from "../../stellar/rpc/schemas.ts";
import { asI128, type Decode, entryValue, structFields } from "../decode.ts";

/*
 * Entries of a built-in asset contract (CAP-46-06). `storage_keys.ts` has their keys: `assetBalanceKey`, `instanceKey`.
 */

/** A contract's balance of an asset. */
export interface AssetBalance {
  /** In the asset's smallest unit. */
  amount: bigint;
  /** False: the issuer froze the balance, and the contract can neither pay it out nor receive more. */
  authorized: boolean;
  /** Whether the issuer can take the balance back. */
  clawback: boolean;
}

const asBool: Decode<boolean> = (value) => {
  if (value.type !== "scvBool") throw new TypeError(`expected bool, got ${value.type}`);
  return value.b;
};

const asAssetBalance: Decode<AssetBalance> = (value) => {
  const field = structFields(value);
  return {
    amount: asI128(field("amount")),
    authorized: asBool(field("authorized")),
    clawback: asBool(field("clawback")),
  };
};

/** The balance in an entry of `assetBalanceKey`; undefined without the entry. @throws {UnexpectedEntry} */
export function assetBalance(entry: RawLedgerEntry | undefined): AssetBalance | undefined {
  return entry && entryValue(entry.xdr, asAssetBalance);
}

/** The name in the instance's metadata: `native` or `CODE:ISSUER`. */
const asBuiltInAsset: Decode<Asset | undefined> = (value) => {
  if (value.type !== "scvContractInstance") throw new TypeError(`expected contract instance, got ${value.type}`);
  const { executable, storage } = value.instance;
  if (executable.type !== "contractExecutableStellarAsset") return undefined;
  const metadata = storage?.find(({ key }) => key.type === "scvSymbol" && key.sym.toString() === "METADATA");
  if (metadata === undefined) throw new TypeError("the asset contract has no metadata");
  const [code, issuer] = String(scValToNative(structFields(metadata.val)("name"))).split(":");
  return issuer === undefined ? Asset.native() : new Asset(code!, issuer);
};

/** The asset of an asset contract, by its instance; undefined for any other contract. @throws {UnexpectedEntry} */
export function builtInAsset(instance: RawLedgerEntry): Asset | undefined {
  return entryValue(instance.xdr, asBuiltInAsset);
}

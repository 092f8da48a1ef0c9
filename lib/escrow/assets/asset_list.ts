import { Asset, StrKey } from "@stellar/stellar-sdk/base";
import { GatewayError } from "../../errors.ts";

/** The assets that this gateway accepts. The escrow has one balance for all assets, so a worthless asset could buy others. */
export interface AssetList {
  /** Their contracts; undefined when the gateway accepts every asset. */
  ids: readonly string[] | undefined;
  has(asset: string): boolean;
  /** @throws {GatewayError} `invalid_request` with the field's name, for an asset that is not accepted */
  require(asset: string, param: string): void;
}

/** @param names the setting's, each valid for `assetContract`; undefined to accept every asset */
export function createAssetList(names: readonly string[] | undefined, networkPassphrase: string): AssetList {
  const ids = names?.map((name) => assetId(name, networkPassphrase)!);
  const has = (asset: string) => ids === undefined || ids.includes(asset);
  return {
    ids,
    has,
    require(asset, param) {
      if (has(asset)) return;
      const one = ids!.length === 1 ? ids![0] : `one of ${ids!.join(", ")}`;
      throw new GatewayError(
        "invalid_request",
        `${param} must be ${
          param === "xdr" ? "a call with the asset " : ""
        }${one}, which this gateway accepts; got ${asset}`,
        { param },
      );
    },
  };
}

/**
 * The contract of `native`, of a classic asset `CODE:ISSUER` (its built-in contract, CAP-46-06) or of a contract id.
 * Undefined for any other text.
 */
export function assetId(name: string, networkPassphrase: string): string | undefined {
  if (StrKey.isValidContract(name)) return name;
  const [code = "", issuer, more] = name.split(":");
  try {
    if (name === "native") return Asset.native().contractId(networkPassphrase);
    return issuer === undefined || more !== undefined
      ? undefined
      : new Asset(code, issuer).contractId(networkPassphrase);
  } catch {
    return undefined;
  }
}

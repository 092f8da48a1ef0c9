import { GatewayError } from "../../errors.ts";
import { assetId } from "./asset_id.ts";

/** The assets that this deployment deals in. The escrow keeps one balance for all assets: a worthless one would buy others. */
export interface AssetList {
  /** The contracts of the accepted assets; undefined when all are accepted. */
  ids: readonly string[] | undefined;
  has(asset: string): boolean;
  /** @throws {GatewayError} `invalid_request` naming the field for an asset that is not dealt in */
  require(asset: string, param: string): void;
}

/** @param names in the form of the setting (`assetId`), already checked; undefined when all assets are accepted */
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
        }${one}, which this gateway deals in; got ${asset}`,
        { param },
      );
    },
  };
}

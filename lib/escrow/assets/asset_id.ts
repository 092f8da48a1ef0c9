import { Asset, StrKey } from "@stellar/stellar-sdk/base";

/**
 * The contract of an asset on a network: of `native`, of a classic asset `CODE:ISSUER` (its built-in contract, CAP-46-06),
 * or the contract id itself; undefined for text that is none of them.
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

import { Asset, StrKey } from "@stellar/stellar-sdk/base";

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

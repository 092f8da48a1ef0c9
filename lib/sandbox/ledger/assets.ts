import { StrKey, xdr } from "@stellar/stellar-sdk";
import { createXdrWriter, sameBytes, sha256 } from "./bytes.ts";

/** An asset with an issuer. */
export type IssuedAsset = Extract<xdr.Asset, { type: "assetTypeCreditAlphanum4" | "assetTypeCreditAlphanum12" }>;

/** Lumens. */
export const NATIVE = xdr.Asset.assetTypeNative();

export function isIssued(asset: xdr.Asset): asset is IssuedAsset {
  return asset.type !== "assetTypeNative";
}

/** Public key of the issuer. */
export function issuerOf(asset: IssuedAsset): Uint8Array {
  return (asset.type === "assetTypeCreditAlphanum4" ? asset.alphaNum4 : asset.alphaNum12).issuer.ed25519.value;
}

/** Whether this account issues the asset. Lumens have no issuer. */
export function isIssuer(publicKey: Uint8Array, asset: xdr.Asset): boolean {
  return isIssued(asset) && sameBytes(issuerOf(asset), publicKey);
}

function codeOf(asset: IssuedAsset): string {
  const code = asset.type === "assetTypeCreditAlphanum4" ? asset.alphaNum4.assetCode : asset.alphaNum12.assetCode;
  return String.fromCharCode(...code.value);
}

/** A code is letters and digits, padded with zeros. The long form has at least five characters. */
export function isValidAsset(asset: xdr.Asset): boolean {
  if (!isIssued(asset)) return true;
  const form = asset.type === "assetTypeCreditAlphanum4" ? /^[a-zA-Z0-9]{1,4}\0*$/ : /^[a-zA-Z0-9]{5,12}\0*$/;
  return form.test(codeOf(asset));
}

/** `native` or `CODE:ISSUER` (SEP-11). */
export function assetText(asset: xdr.Asset): string {
  if (!isIssued(asset)) return "native";
  return `${codeOf(asset).replaceAll("\0", "")}:${StrKey.encodeEd25519PublicKey(issuerOf(asset))}`;
}

const ENVELOPE_TYPE_CONTRACT_ID = 8;
const CONTRACT_ID_FROM_ASSET = 1;

/** Id of the asset's contract, 32 bytes, deployed or not (CAP-46-06). */
export function assetContractId(networkId: Uint8Array, asset: xdr.Asset): Uint8Array {
  const preimage = createXdrWriter().uint32(ENVELOPE_TYPE_CONTRACT_ID).raw(networkId).uint32(CONTRACT_ID_FROM_ASSET);
  return sha256(preimage.raw(asset.toXdr()).finish());
}

import { StrKey, xdr } from "@stellar/stellar-sdk/base";

/** The account's LedgerEntryData, base64. */
export function accountEntry(address: string, seqNum: bigint): string {
  return xdr.LedgerEntryData.account(
    new xdr.AccountEntry({
      accountId: xdr.PublicKey.publicKeyTypeEd25519(StrKey.decodeEd25519PublicKey(address)),
      balance: 10_000_000_000n,
      seqNum,
      numSubEntries: 0,
      inflationDest: null,
      flags: 0,
      homeDomain: "",
      thresholds: new Uint8Array([1, 0, 0, 0]),
      signers: [],
      ext: xdr.AccountEntryExt.v0(),
    }),
  ).toXdr("base64");
}

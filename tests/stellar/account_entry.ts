import { StrKey, xdr } from "@stellar/stellar-sdk/base";
import { newAccount, withFields } from "../../lib/sandbox/ledger/accounts.ts";

/** The account's LedgerEntryData, base64. */
export function accountEntry(address: string, seqNum: bigint): string {
  const account = newAccount(StrKey.decodeEd25519PublicKey(address), 10_000_000_000n, 1);
  return xdr.LedgerEntryData.account(withFields(account, { seqNum })).toXdr("base64");
}

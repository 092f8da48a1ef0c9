import { Keypair } from "@stellar/stellar-sdk";
import { newAccount, storeAccount } from "./accounts.ts";
import { keyOf } from "./bytes.ts";
import { TOTAL_COINS } from "./headers.ts";
import type { LedgerChanges } from "./state.ts";

/** The account that owns everything at first. As on every Stellar network its seed is the network's id: known to all. */
export function rootKeypair(passphrase: string): Keypair {
  return Keypair.master(passphrase);
}

/** What is there in the first ledger: the root account and the network settings. */
export function putGenesis(
  changes: LedgerChanges,
  passphrase: string,
  settings: { key: Uint8Array; entry: Uint8Array }[],
  adjust: (entryXdr: Uint8Array) => Uint8Array = (entryXdr) => entryXdr,
): void {
  for (const { key, entry } of settings) changes.put(keyOf(key), { entryXdr: adjust(entry.slice()) });
  storeAccount(changes, newAccount(rootKeypair(passphrase).rawPublicKey(), TOTAL_COINS, 0), 1);
}

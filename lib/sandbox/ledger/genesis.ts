import { Keypair, xdr } from "@stellar/stellar-sdk";
import { newAccount, storeAccount } from "./accounts.ts";
import { keyOf } from "./bytes.ts";
import { TOTAL_COINS } from "./headers.ts";
import type { LedgerChanges } from "./state.ts";

/** The account that owns everything at first. As on every Stellar network its seed is the network's id: known to all. */
export function rootKeypair(passphrase: string): Keypair {
  return Keypair.master(passphrase);
}

/** What is put into the first ledger: the root account and the network settings. */
export function putGenesis(
  changes: LedgerChanges,
  passphrase: string,
  ledgerSequence: number,
  settings: { key: Uint8Array; entry: Uint8Array }[],
  adjust: (entryXdr: Uint8Array) => Uint8Array = (entryXdr) => entryXdr,
): void {
  for (const { key, entry } of settings) changes.put(keyOf(key), { entryXdr: adjust(entry.slice()) });
  storeAccount(
    changes,
    newAccount(rootKeypair(passphrase).rawPublicKey(), TOTAL_COINS, ledgerSequence - 1),
    ledgerSequence,
  );
}

/** How long entries live when they are made, in ledgers. */
export interface EntryLifetimes {
  persistent: number;
  temporary: number;
}

/** The network setting that says how long entries live: its LedgerKey. */
export const LIFETIMES_KEY = xdr.LedgerKey.configSetting(
  new xdr.LedgerKeyConfigSetting({ configSettingId: xdr.ConfigSettingId.configSettingStateArchival }),
).toXdr();

/** What the setting under `LIFETIMES_KEY` (LedgerEntryData) says; undefined for any other entry. */
export function entryLifetimes(dataXdr: Uint8Array): EntryLifetimes | undefined {
  const settings = archivalSettings(xdr.LedgerEntryData.fromXdr(dataXdr));
  return settings && { persistent: settings.minPersistentTtl, temporary: settings.minTemporaryTtl };
}

/** For `adjustSettings`: every new entry lives for so many ledgers, persistent or temporary. Other settings stay as they are. */
export function withEntryTtl(ledgers: number): (entryXdr: Uint8Array) => Uint8Array {
  return (entryXdr) => {
    const entry = xdr.LedgerEntry.fromXdr(entryXdr);
    const settings = archivalSettings(entry.data);
    if (settings === undefined) return entryXdr;
    const changed = new xdr.StateArchivalSettings({ ...settings, minPersistentTtl: ledgers, minTemporaryTtl: ledgers });
    const data = xdr.LedgerEntryData.configSetting(xdr.ConfigSettingEntry.configSettingStateArchival(changed));
    return new xdr.LedgerEntry({ ...entry, data }).toXdr();
  };
}

function archivalSettings(data: xdr.LedgerEntryData): xdr.StateArchivalSettings | undefined {
  const isArchival = data.type === "configSetting" && data.configSetting.type === "configSettingStateArchival";
  return isArchival ? data.configSetting.stateArchivalSettings : undefined;
}

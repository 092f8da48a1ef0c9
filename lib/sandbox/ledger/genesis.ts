import { Keypair, xdr } from "@stellar/stellar-sdk";
import { newAccount, storeAccount } from "./accounts.ts";
import { keyOf } from "./bytes.ts";
import { TOTAL_COINS } from "./protocol.ts";
import { type AdjustSetting, settingKey } from "./settings.ts";
import type { LedgerChanges } from "./state.ts";

/** The account that owns all lumens at first. As on every Stellar network its seed is the network's id, which is public. */
export function rootKeypair(passphrase: string): Keypair {
  return Keypair.master(passphrase);
}

/** Puts the root account and the network settings into the first ledger. */
export function putGenesis(
  changes: LedgerChanges,
  passphrase: string,
  ledgerSequence: number,
  settings: { key: Uint8Array; entry: Uint8Array }[],
  adjust: AdjustSetting = (entryXdr) => entryXdr,
): void {
  for (const { key, entry } of settings) changes.put(keyOf(key), { entryXdr: adjust(entry.slice()) });
  storeAccount(
    changes,
    newAccount(rootKeypair(passphrase).rawPublicKey(), TOTAL_COINS, ledgerSequence - 1),
    ledgerSequence,
  );
}

/** Lifetimes of new entries in ledgers. */
export interface EntryLifetimes {
  persistent: number;
  temporary: number;
}

/** LedgerKey of the network setting for the lifetimes of entries. */
export const LIFETIMES_KEY = settingKey(xdr.ConfigSettingId.configSettingStateArchival);

/** The lifetimes in the setting under `LIFETIMES_KEY` (LedgerEntryData), undefined for other entries. */
export function entryLifetimes(dataXdr: Uint8Array): EntryLifetimes | undefined {
  const settings = archivalSettings(xdr.LedgerEntryData.fromXdr(dataXdr));
  return settings && { persistent: settings.minPersistentTtl, temporary: settings.minTemporaryTtl };
}

/** For `adjustSettings`: sets the lifetime of new persistent and temporary entries. Other settings stay. */
export function withEntryTtl(ledgers: number): AdjustSetting {
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

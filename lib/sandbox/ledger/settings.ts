import { xdr } from "@stellar/stellar-sdk";

/** Changes a LedgerEntry of a network setting, or returns it as it is. */
export type AdjustSetting = (entryXdr: Uint8Array) => Uint8Array;

/** Arms of ConfigSettingEntry that change other settings and are no settings themselves. */
const CHANGES = ["configSettingFrozenLedgerKeysDelta", "configSettingFreezeBypassTxsDelta"];

/**
 * Reads a ConfigUpgradeSet, as `stellar network settings` prints it: JSON (SEP-51) or XDR in base64.
 * @throws {RangeError} with what is wrong
 */
export function parseSettings(text: string): xdr.ConfigSettingEntry[] {
  const entries = upgradeSet(text.trim()).updatedEntry;
  if (entries.length === 0) throw new RangeError("it has no settings");
  const change = entries.find(({ type }) => CHANGES.includes(type));
  if (change !== undefined) throw new RangeError(`${change.type} is no setting of a ledger`);
  const twice = entries.find(({ type }, index) => entries.findIndex((other) => other.type === type) < index);
  if (twice !== undefined) throw new RangeError(`it has ${twice.type} twice`);
  return [...entries];
}

function upgradeSet(text: string): xdr.ConfigUpgradeSet {
  const isJson = text.startsWith("{");
  try {
    return isJson ? xdr.ConfigUpgradeSet.fromJson(JSON.parse(text)) : xdr.ConfigUpgradeSet.fromXdr(text, "base64");
  } catch (error) {
    const form = isJson ? "JSON" : "base64";
    throw new RangeError(`it is no ConfigUpgradeSet in ${form}: ${(error as Error).message}`);
  }
}

/** For `adjustSettings`: puts these settings in place of the network's. */
export function withSettings(settings: readonly xdr.ConfigSettingEntry[]): AdjustSetting {
  return (entryXdr) => {
    const entry = xdr.LedgerEntry.fromXdr(entryXdr);
    const old = entry.data.type === "configSetting" ? entry.data.configSetting.type : undefined;
    const setting = settings.find(({ type }) => type === old);
    if (setting === undefined) return entryXdr;
    return new xdr.LedgerEntry({ ...entry, data: xdr.LedgerEntryData.configSetting(setting) }).toXdr();
  };
}

/** The LedgerKey of a setting. */
export function settingKey(configSettingId: xdr.ConfigSettingId): Uint8Array {
  return xdr.LedgerKey.configSetting(new xdr.LedgerKeyConfigSetting({ configSettingId })).toXdr();
}

/** The entry of a setting: LedgerKey and LedgerEntryData. */
export function settingEntry(setting: xdr.ConfigSettingEntry) {
  return {
    name: setting.type,
    keyXdr: settingKey(xdr.ConfigSettingId.fromName(setting.type)),
    dataXdr: xdr.LedgerEntryData.configSetting(setting).toXdr(),
  };
}

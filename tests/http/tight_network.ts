import { xdr } from "@stellar/stellar-sdk";
import { bootstrappedNetwork } from "../sandbox/ready_network.ts";
import { isLong } from "../tier.ts";
import { startTestNetwork, type TestNetwork, testNetworkOf } from "./test_gateway.ts";

/** How many ledger entries one transaction may write, and may touch at all. */
export interface EntryLimits {
  written: number;
  touched: number;
}

const PUBLIC_NETWORK: EntryLimits = { written: 200, touched: 400 };

/** The public network's limits in the long form. In the short form these, which a test reaches with fewer calls. */
export const limitsFor = (short: EntryLimits): EntryLimits => isLong ? PUBLIC_NETWORK : short;

/** A test network with these limits. */
export async function startTightNetwork(limits: EntryLimits): Promise<TestNetwork> {
  if (limits === PUBLIC_NETWORK) return await startTestNetwork();
  return testNetworkOf(await bootstrappedNetwork({ adjustSettings: (entryXdr) => withLimits(entryXdr, limits) }));
}

function withLimits(entryXdr: Uint8Array, limits: EntryLimits): Uint8Array {
  const entry = xdr.LedgerEntry.fromXdr(entryXdr);
  if (entry.data.type !== "configSetting") return entryXdr;
  const setting = limited(entry.data.configSetting, limits);
  if (setting === undefined) return entryXdr;
  return new xdr.LedgerEntry({ ...entry, data: xdr.LedgerEntryData.configSetting(setting) }).toXdr();
}

function limited(setting: xdr.ConfigSettingEntry, limits: EntryLimits): xdr.ConfigSettingEntry | undefined {
  if (setting.type === "configSettingContractLedgerCostV0") {
    const cost = { ...setting.contractLedgerCost, txMaxWriteLedgerEntries: limits.written };
    return xdr.ConfigSettingEntry.configSettingContractLedgerCostV0(new xdr.ConfigSettingContractLedgerCostV0(cost));
  }
  if (setting.type === "configSettingContractLedgerCostExtV0") {
    const cost = { ...setting.contractLedgerCostExt, txMaxFootprintEntries: limits.touched };
    return xdr.ConfigSettingEntry.configSettingContractLedgerCostExtV0(
      new xdr.ConfigSettingContractLedgerCostExtV0(cost),
    );
  }
}

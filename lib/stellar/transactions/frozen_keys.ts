/*
 * Finds ledger entries that validators have frozen (CAP-77). They list the keys in a setting of the network, and apply no
 * transaction that needs one of them. A simulation does not look at that setting.
 */

import { Address, xdr } from "@stellar/stellar-sdk/base";
import { GatewayError } from "../../errors.ts";
import type { RawLedgerEntry } from "../rpc/schemas.ts";
import { nodeXdr } from "./node_xdr.ts";

/** The code of a transaction that needs a frozen entry. */
export const FROZEN = "txFrozenKeyAccessed";

/** The base64 LedgerKey of the setting with the frozen keys. Networks before protocol 26 have no such entry. */
export const FROZEN_KEYS = xdr.LedgerKey.configSetting(
  new xdr.LedgerKeyConfigSetting({ configSettingId: xdr.ConfigSettingId.configSettingFrozenLedgerKeys }),
).toXdr("base64");

/** The first of these base64 LedgerKeys that is frozen. @param setting the entry at `FROZEN_KEYS` */
export function frozenAmong(setting: RawLedgerEntry | undefined, keys: () => string[]): string | undefined {
  if (setting === undefined) return undefined;
  const frozen = nodeXdr("the network's frozen keys", () => {
    const data = xdr.LedgerEntryData.fromXdr(setting.xdr, "base64");
    if (data.type !== "configSetting" || data.configSetting.type !== "configSettingFrozenLedgerKeys") {
      throw new TypeError(`got an entry of type ${data.type}`);
    }
    return data.configSetting.frozenLedgerKeys.keys;
  });
  if (frozen.length === 0) return undefined;
  const listed = new Set(frozen.map(({ value }) => xdr.encodeBytes(value, "base64")));
  return keys().find((key) => listed.has(key));
}

/** The base64 LedgerKeys that a transaction reads or writes. @param transactionData base64 SorobanTransactionData */
export function keysOf(transactionData: string): string[] {
  const data = nodeXdr("transactionData", () => xdr.SorobanTransactionData.fromXdr(transactionData, "base64"));
  const { readOnly, readWrite } = data.resources.footprint;
  return [...readOnly, ...readWrite].map((key) => key.toXdr("base64"));
}

/** The error for an operation that needs a frozen entry, as the network would reject it. */
export function frozenRefusal(key: string): GatewayError {
  const message =
    `the network's validators have frozen ${entryOf(key)}, which the operation needs. The network applies it ` +
    "only after they unfreeze the entry";
  return new GatewayError("invalid_request", message, { transactionError: FROZEN, reason: "entry_frozen" });
}

function entryOf(keyXdr: string): string {
  const key = xdr.LedgerKey.fromXdr(keyXdr, "base64");
  switch (key.type) {
    case "account":
      return `the account ${addressOf(key.account.accountId)}`;
    case "trustline":
      return `a trustline of ${addressOf(key.trustLine.accountId)}`;
    case "contractData":
      return `an entry of the contract ${Address.fromScAddress(key.contractData.contract)}`;
    case "contractCode":
      return `the contract code ${xdr.encodeBytes(key.contractCode.hash.value, "hex")}`;
    default:
      return `an entry of type ${key.type}`;
  }
}

function addressOf(account: xdr.AccountId): string {
  return Address.fromScAddress(xdr.ScAddress.scAddressTypeAccount(account)).toString();
}

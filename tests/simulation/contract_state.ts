import { Address, nativeToScVal, xdr } from "@stellar/stellar-sdk/base";
import type { ContractCall } from "../../lib/stellar/transactions/contract_call.ts";
import { Accounts } from "./accounts.ts";
import { ASSET } from "./chain.ts";
import { endOf, type EscrowState, type TruePayment } from "./escrow_state.ts";

// The contracts' entries, as of a ledger. Every card is registered. A node answers its ledger's number as each card's balance, so
// that each answer shows its ledger. Payments are true.

const CODE = new Uint8Array(32).fill(7);
const OWNER = 8;

const instance = xdr.ScVal.scvContractInstance(
  new xdr.ScContractInstance({ executable: xdr.ContractExecutable.contractExecutableWasm(CODE), storage: null }),
);
const device = struct({
  agent: new Address(Accounts.address(OWNER)),
  created_at: [1n, "u64"],
  owner: new Address(Accounts.address(OWNER)),
  status: [0, "u32"],
});
const policy = struct({
  agent: new Address(Accounts.address(OWNER)),
  asset: new Address(ASSET),
  expires_at: [0n, "u64"],
  max_amount: [0n, "i128"],
});
const balance = (ledger: number) => nativeToScVal(BigInt(ledger), { type: "i128" });

/** By the first word of their storage keys, and by the functions that tell them. */
const KEPT: Record<string, (ledger: number) => xdr.ScVal> = {
  Device: () => device,
  AgentMap: () => policy,
  EscrowBalance: balance,
};
const TOLD: Record<string, (ledger: number) => xdr.ScVal> = {
  get_device: () => device,
  get_policy: () => policy,
  balance_of: balance,
};

/** The entry of a key, base64 LedgerEntryData; undefined: there is none. */
export function contractEntry({ contract, key, durability }: xdr.LedgerKeyContractData, ledger: number) {
  const val = key.type === "scvLedgerKeyContractInstance" ? instance : KEPT[variantOf(key)]?.(ledger);
  if (val === undefined) return undefined;
  return dataOf({ contract, key, durability }, val).toXdr("base64");
}

/** An entry in an answer of `getLedgerEntries`, without its key. */
export interface KeptEntry {
  xdr: string;
  lastModifiedLedgerSeq: number;
  liveUntilLedgerSeq?: number;
}

/** The entry of a merchant's count or of a payment. Undefined for other keys, and when there is no entry. */
export function pendingEntry(
  key: xdr.LedgerKeyContractData,
  escrow: EscrowState,
  ledger: number,
): KeptEntry | undefined {
  const [, given] = key.key.type === "scvVec" ? key.key.vec ?? [] : [];
  const variant = variantOf(key.key);
  if (variant === "PendingIndex") {
    const index = escrow.index(addressOf(given!), ledger);
    const kept = dataOf(key, xdr.ScVal.scvU32(index)).toXdr("base64");
    return index === 0 ? undefined : { xdr: kept, lastModifiedLedgerSeq: ledger };
  }
  if (variant !== "PendingPayment") return undefined;
  const [merchant, slot] = given?.type === "scvVec" ? given.vec ?? [] : [];
  if (slot?.type !== "scvU32") throw new TypeError("got another key of a payment");
  const payment = escrow.inSlot(addressOf(merchant!), slot.u32, ledger);
  if (payment === undefined) return undefined;
  const liveUntilLedgerSeq = endOf(payment, ledger);
  // Some nodes list entries that have ended until the network evicts them.
  if (liveUntilLedgerSeq < ledger && !isListedWhenEnded(payment)) return undefined;
  return {
    xdr: dataOf(key, valueOf(payment)).toXdr("base64"),
    lastModifiedLedgerSeq: payment.ledger,
    liveUntilLedgerSeq,
  };
}

export function isListedWhenEnded({ txHash }: TruePayment): boolean {
  return Number.parseInt(txHash.at(-2)!, 16) % 2 === 0;
}

/** The truth about a card's balance, which nodes do not tell. */
export function balanceEntry(
  key: xdr.LedgerKeyContractData,
  escrow: EscrowState,
  ledger: number,
): KeptEntry | undefined {
  const [, given] = key.key.type === "scvVec" ? key.key.vec ?? [] : [];
  if (variantOf(key.key) !== "EscrowBalance" || given?.type !== "scvBytes") return undefined;
  const amount = escrow.balance(xdr.encodeBytes(given.bytes.value, "hex"), ledger);
  return { xdr: dataOf(key, balance(Number(amount))).toXdr("base64"), lastModifiedLedgerSeq: ledger };
}

export function dataOf(
  { contract, key, durability }: Pick<xdr.LedgerKeyContractData, "contract" | "key" | "durability">,
  val: xdr.ScVal,
): xdr.LedgerEntryData {
  const entry = new xdr.ContractDataEntry({ ext: xdr.ExtensionPoint.v0(), contract, key, durability, val });
  return xdr.LedgerEntryData.contractData(entry);
}

/** The value in the entry of a payment. */
export function valueOf({ deviceHash, amount, at }: TruePayment): xdr.ScVal {
  return xdr.ScVal.scvMap([
    new xdr.ScMapEntry({ key: xdr.ScVal.scvSymbol("amount"), val: nativeToScVal(amount, { type: "i128" }) }),
    new xdr.ScMapEntry({
      key: xdr.ScVal.scvSymbol("device_hash"),
      val: xdr.ScVal.scvBytes(xdr.decodeBytes(deviceHash, "hex")),
    }),
    new xdr.ScMapEntry({ key: xdr.ScVal.scvSymbol("timestamp"), val: nativeToScVal(BigInt(at), { type: "u64" }) }),
  ]);
}

/** The network's setting of how long entries live, base64 LedgerEntryData. */
export function lifeEntry(life: number): string {
  const settings = new xdr.StateArchivalSettings({
    maxEntryTtl: 1_000_000,
    minTemporaryTtl: life,
    minPersistentTtl: life,
    persistentRentRateDenominator: 1n,
    tempRentRateDenominator: 1n,
    maxEntriesToArchive: 1,
    liveSorobanStateSizeWindowSampleSize: 1,
    liveSorobanStateSizeWindowSamplePeriod: 1,
    evictionScanSize: 1,
    startingEvictionScanLevel: 1,
  });
  const setting = xdr.ConfigSettingEntry.configSettingStateArchival(settings);
  return xdr.LedgerEntryData.configSetting(setting).toXdr("base64");
}

function addressOf(value: xdr.ScVal): string {
  return Address.fromScVal(value).toString();
}

/** What a function that only tells answers, base64 ScVal; undefined: it is not one of these. */
export function toldBy(call: ContractCall | undefined, ledger: number): string | undefined {
  return call === undefined ? undefined : TOLD[call.function]?.(ledger).toXdr("base64");
}

function variantOf(key: xdr.ScVal): string {
  const first = key.type === "scvVec" ? key.vec?.[0] : undefined;
  return first?.type === "scvSymbol" ? first.sym.toString() : "";
}

function struct(fields: Record<string, Address | [value: unknown, type: "u32" | "u64" | "i128"]>): xdr.ScVal {
  return xdr.ScVal.scvMap(
    Object.entries(fields).map(([name, field]) =>
      new xdr.ScMapEntry({
        key: xdr.ScVal.scvSymbol(name),
        val: field instanceof Address ? field.toScVal() : nativeToScVal(field[0], { type: field[1] }),
      })
    ),
  );
}

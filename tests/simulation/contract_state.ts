import { Address, nativeToScVal, xdr } from "@stellar/stellar-sdk/base";
import type { ContractCall } from "../../lib/stellar/transactions/contract_call.ts";
import { Accounts } from "./accounts.ts";
import { ASSET } from "./chain.ts";

// What the contracts keep, as of a ledger. Every card is registered, and its escrow holds as many units as that ledger has
// for a number: so each answer tells of which ledger it is.

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
  const entry = new xdr.ContractDataEntry({ ext: xdr.ExtensionPoint.v0(), contract, key, durability, val });
  return xdr.LedgerEntryData.contractData(entry).toXdr("base64");
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

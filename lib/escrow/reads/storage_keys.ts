import { Address, xdr } from "@stellar/stellar-sdk/base";

// Storage keys of the contracts, as base64 LedgerKeys. A `#[contracttype]` enum variant is a Vec of a Symbol and arguments.

type Durability = "persistent" | "temporary";

function dataKey(contract: string, key: xdr.ScVal, durability: Durability): string {
  return xdr.LedgerKey.contractData(
    new xdr.LedgerKeyContractData({
      contract: Address.fromString(contract).toScAddress(),
      key,
      durability: xdr.ContractDataDurability[durability],
    }),
  ).toXdr("base64");
}

function variant(name: string, ...args: xdr.ScVal[]): xdr.ScVal {
  return xdr.ScVal.scvVec([xdr.ScVal.scvSymbol(name), ...args]);
}

/** A device hash (64 hex digits) as BytesN<32>. */
export function hashVal(deviceHash: string): xdr.ScVal {
  return xdr.ScVal.scvBytes(xdr.decodeBytes(deviceHash, "hex"));
}

/** `G…` or `C…` as Address. */
export function addressVal(address: string): xdr.ScVal {
  return Address.fromString(address).toScVal();
}

/** A contract's instance, which names its code. */
export function instanceKey(contract: string): string {
  return dataKey(contract, xdr.ScVal.scvLedgerKeyContractInstance(), "persistent");
}

/** device_registry: `Device(BytesN<32>)` → DeviceInfo. */
export function deviceKey(deviceRegistry: string, deviceHash: string): string {
  return dataKey(deviceRegistry, variant("Device", hashVal(deviceHash)), "persistent");
}

/** device_registry: `WalletDeviceCount(Address)` → u32. */
export function walletDeviceCountKey(deviceRegistry: string, wallet: string): string {
  return dataKey(deviceRegistry, variant("WalletDeviceCount", addressVal(wallet)), "persistent");
}

/** device_registry: `WalletDeviceByIndex(Address, u32)` → BytesN<32>. */
export function walletDeviceKey(deviceRegistry: string, wallet: string, index: number): string {
  return dataKey(
    deviceRegistry,
    variant("WalletDeviceByIndex", addressVal(wallet), xdr.ScVal.scvU32(index)),
    "persistent",
  );
}

/** agent_registry: `AgentMap(BytesN<32>)` → AgentPolicy. */
export function policyKey(agentRegistry: string, deviceHash: string): string {
  return dataKey(agentRegistry, variant("AgentMap", hashVal(deviceHash)), "persistent");
}

/** payment_escrow: `EscrowBalance(BytesN<32>)` → i128. */
export function balanceKey(paymentEscrow: string, deviceHash: string): string {
  return dataKey(paymentEscrow, variant("EscrowBalance", hashVal(deviceHash)), "persistent");
}

/** payment_escrow: `AuthNonce((BytesN<32>, Address))` → u64. */
export function nonceKey(paymentEscrow: string, deviceHash: string, agent: string): string {
  const pair = xdr.ScVal.scvVec([hashVal(deviceHash), addressVal(agent)]);
  return dataKey(paymentEscrow, variant("AuthNonce", pair), "persistent");
}

/** payment_escrow: `PendingIndex(Address)` → u32. */
export function pendingIndexKey(paymentEscrow: string, merchant: string): string {
  return dataKey(paymentEscrow, variant("PendingIndex", addressVal(merchant)), "persistent");
}

/** payment_escrow: `PendingPayment((Address, u32))` → Payment, a temporary entry. */
export function pendingPaymentKey(paymentEscrow: string, merchant: string, index: number): string {
  const pair = xdr.ScVal.scvVec([addressVal(merchant), xdr.ScVal.scvU32(index)]);
  return dataKey(paymentEscrow, variant("PendingPayment", pair), "temporary");
}

/** payment_escrow: `DeviceRegistry` and `AgentRegistry` → Address, the registries of its initialisation. */
export function registryKey(paymentEscrow: string, registry: "DeviceRegistry" | "AgentRegistry"): string {
  return dataKey(paymentEscrow, variant(registry), "persistent");
}

/** A built-in asset contract: `Balance(Address)` → its balance. Only contracts have one, and accounts have trustlines. */
export function assetBalanceKey(asset: string, holder: string): string {
  return dataKey(asset, variant("Balance", addressVal(holder)), "persistent");
}

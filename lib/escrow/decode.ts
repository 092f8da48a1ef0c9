import { Address, scValToBigInt, xdr } from "@stellar/stellar-sdk/base";
import { GatewayError } from "../errors.ts";
import { nodeXdr } from "../stellar/transactions/node_xdr.ts";

/** device_registry's DeviceInfo. */
export interface DeviceInfo {
  owner: string;
  agent: string;
  /** 0: active. */
  status: number;
  /** Unix seconds. */
  createdAt: bigint;
}

/** agent_registry's AgentPolicy. */
export interface AgentPolicy {
  agent: string;
  /** 0: no cap. */
  maxAmount: bigint;
  asset: string;
  /** Unix seconds; 0 for never. */
  expiresAt: bigint;
}

/** Decodes a value. @throws {TypeError} when the value has another type or shape, as every function below */
export type Decode<T> = (value: xdr.ScVal) => T;

export const asU32: Decode<number> = (value) => {
  if (value.type !== "scvU32") throw unexpected("u32", value);
  return value.u32;
};

export const asU64: Decode<bigint> = (value) => {
  if (value.type !== "scvU64") throw unexpected("u64", value);
  return value.u64;
};

export const asI128: Decode<bigint> = (value) => {
  if (value.type !== "scvI128") throw unexpected("i128", value);
  return scValToBigInt(value);
};

/** `G…` or `C…`; no other kind of address can own, pay or be paid. */
export const asAddress: Decode<string> = (value) => {
  const kind = value.type === "scvAddress" ? value.address.type : undefined;
  if (kind !== "scAddressTypeAccount" && kind !== "scAddressTypeContract") throw unexpected("Address", value);
  return Address.fromScVal(value).toString();
};

/** BytesN<32> as 64 lower-case hex digits. */
export const asHash: Decode<string> = (value) => {
  if (value.type !== "scvBytes" || value.bytes.value.length !== 32) throw unexpected("BytesN<32>", value);
  return xdr.encodeBytes(value.bytes.value, "hex");
};

export const asDeviceInfo: Decode<DeviceInfo> = (value) => {
  const field = structFields(value);
  return {
    owner: asAddress(field("owner")),
    agent: asAddress(field("agent")),
    status: asU32(field("status")),
    createdAt: asU64(field("created_at")),
  };
};

export const asAgentPolicy: Decode<AgentPolicy> = (value) => {
  const field = structFields(value);
  return {
    agent: asAddress(field("agent")),
    maxAmount: asI128(field("max_amount")),
    asset: asAddress(field("asset")),
    expiresAt: asU64(field("expires_at")),
  };
};

/** payment_escrow's Payment. */
export interface Payment {
  deviceHash: string;
  amount: bigint;
  /** When it was authorised, Unix seconds. */
  timestamp: bigint;
}

export const asPayment: Decode<Payment> = (value) => {
  const field = structFields(value);
  return {
    deviceHash: asHash(field("device_hash")),
    amount: asI128(field("amount")),
    timestamp: asU64(field("timestamp")),
  };
};

/** The code of a contract, as its instance names it. */
export type Executable =
  /** The protocol's built-in asset contract. */
  | { kind: "asset" }
  /** SHA-256 of its wasm, hex. */
  | { kind: "wasm"; hash: string }
  /** An external executable (CAP-85): `owner`, a contract, keeps the wasm's hash under the tag, in the entry at `key`. */
  | { kind: "external"; owner: string; tag: string; key: string };

export const asExecutable: Decode<Executable> = (value) => {
  if (value.type !== "scvContractInstance") throw unexpected("contract instance", value);
  const { executable } = value.instance;
  switch (executable.type) {
    case "contractExecutableStellarAsset":
      return { kind: "asset" };
    case "contractExecutableWasm":
      return { kind: "wasm", hash: xdr.encodeBytes(executable.wasmHash.value, "hex") };
    case "contractExecutableExternalRef": {
      const { executableOwner: contract, tag } = executable.externalRef;
      const durability = xdr.ContractDataDurability.persistent;
      const data = new xdr.LedgerKeyContractData({ contract, key: xdr.ScVal.scvExecutableTag(tag), durability });
      const key = xdr.LedgerKey.contractData(data).toXdr("base64");
      return { kind: "external", owner: Address.fromScAddress(contract).toString(), tag: tag.toJson(), key };
    }
  }
};

/** A contract's storage has another layout than `interfaces.ts` expects. */
export class UnexpectedEntry extends GatewayError {
  constructor(cause: unknown) {
    super("upstream_error", "a contract's ledger entry has another layout than the gateway expects", { cause });
  }
}

/** The value of a contract's data entry (base64 LedgerEntryData). @throws {UnexpectedEntry} */
export function entryValue<T>(entryXdr: string, decode: Decode<T>): T {
  try {
    const data = xdr.LedgerEntryData.fromXdr(entryXdr, "base64");
    if (data.type !== "contractData") throw new TypeError(`got an entry of type ${data.type}`);
    return decode(data.contractData.val);
  } catch (cause) {
    throw new UnexpectedEntry(cause);
  }
}

/** A value that a call returned (base64 ScVal). @throws {GatewayError} `upstream_error` */
export function returnedValue<T>(valueXdr: string, decode: Decode<T>): T {
  return nodeXdr("a contract's return value", () => decode(xdr.ScVal.fromXdr(valueXdr, "base64")));
}

/** The fields of a `#[contracttype]` struct by name. */
export function structFields(value: xdr.ScVal): (name: string) => xdr.ScVal {
  if (value.type !== "scvMap" || value.map === null) throw unexpected("struct", value);
  const fields = new Map(value.map.map(({ key, val }) => [key.type === "scvSymbol" ? key.sym.toString() : "", val]));
  return (name) => {
    const field = fields.get(name);
    if (field === undefined) throw new TypeError(`the struct has no field ${name}`);
    return field;
  };
}

function unexpected(wanted: string, value: xdr.ScVal): TypeError {
  return new TypeError(`expected ${wanted}, got ${value.type}`);
}

import { xdr } from "@stellar/stellar-sdk/base";
import { nodeXdr } from "../../stellar/transactions/node_xdr.ts";
import { rethrowUpstream } from "../../stellar/fresh_read.ts";
import type { RpcClient } from "../../stellar/rpc/client.ts";
import { CONTRACT_ERRORS, CONTRACT_KEYS, type ContractIds, type ContractName, CONTRACTS } from "./errors.ts";
import { CONTRACT_INTERFACES } from "./interfaces.ts";
import { type ContractSpec, specOf } from "./spec.ts";
import { asAddress, asExecutable, asHash, entryValue, type Executable } from "../decode.ts";
import { instanceKey, registryKey } from "../reads/storage_keys.ts";

/** The comparison of one contract with the expected interface. */
export interface ContractFinding {
  name: ContractName;
  id: string;
  /**
   * - `as_expected`;
   * - `missing`: no contract of this id on this network;
   * - `archived`: it, or its code, must be restored before a call, because it was unused for long;
   * - `no_code`: its external executable names an entry that does not exist, or that holds no hash;
   * - `asset`: the protocol's built-in asset contract;
   * - `another`: a contract with another interface, with `looksLike` when that is one of the other two;
   * - `other_errors`: it can be called, but its errors have other names.
   */
  state: "as_expected" | "missing" | "archived" | "no_code" | "asset" | "another" | "other_errors";
  looksLike?: ContractName;
  /** The differences, each as part of a sentence: `authorize is (…), expected (…)`. */
  differences: string[];
  /** SHA-256 of its code, hex; undefined without one. */
  codeHash?: string;
  /** Where its code's hash is kept, if that is an external executable (CAP-85). */
  external?: { owner: string; tag: string };
}

export interface InterfaceCheckParts {
  rpc: Pick<RpcClient, "getLedgerEntries">;
  contracts: ContractIds;
}

/**
 * Compares the three contracts in the ledger with the expected interfaces, by the interface specification in their code
 * (SEP-48).
 * @throws {GatewayError} `upstream_error` when the node fails
 */
export async function checkInterfaces({ rpc, contracts }: InterfaceCheckParts): Promise<ContractFinding[]> {
  const idOf = (name: ContractName) => contracts[CONTRACT_KEYS[name]];
  const instances = await read(rpc, CONTRACTS.map((name) => instanceKey(idOf(name))));
  const executables = instances.map((instance) => instance && entryValue(instance.xdr, asExecutable));
  const externalKeys = executables.map((one) => one?.kind === "external" ? one.key : undefined);
  const tagged = await readSome(rpc, externalKeys);
  const hashes = executables.map((one, index) => one && hashOf(one, tagged[index]));
  const codes = await readSome(rpc, hashes.map((hash) => hash && codeKey(hash)));

  return CONTRACTS.map((name, index) => {
    const [instance, executable, hash, tag] = [instances[index], executables[index], hashes[index], tagged[index]];
    const finding: Omit<ContractFinding, "state"> = { name, id: idOf(name), differences: [] };
    if (instance === undefined || executable === undefined) return { ...finding, state: "missing" };
    if (executable.kind === "asset") return { ...finding, state: "asset" };
    if (executable.kind === "external") finding.external = { owner: executable.owner, tag: executable.tag };
    if (hash === undefined) return { ...finding, state: "no_code" };
    const code = codes[index];
    if (code === undefined || !code.isLive || !instance.isLive || tag?.isLive === false) {
      return { ...finding, state: "archived", codeHash: hash };
    }
    return { ...finding, ...compared(name, code.xdr), codeHash: hash };
  });
}

/** The registries of the escrow's initialisation; undefined where it stores none. @throws {GatewayError} */
export async function registriesOf(
  { rpc, contracts: { paymentEscrow } }: InterfaceCheckParts,
): Promise<{ deviceRegistry?: string; agentRegistry?: string }> {
  const keys = [registryKey(paymentEscrow, "DeviceRegistry"), registryKey(paymentEscrow, "AgentRegistry")];
  const [deviceRegistry, agentRegistry] = (await read(rpc, keys))
    .map((entry) => entry && entryValue(entry.xdr, asAddress));
  return { deviceRegistry, agentRegistry };
}

interface ReadEntry {
  xdr: string;
  isLive: boolean;
}

/** These entries in their order, undefined where there is none. */
async function read(rpc: InterfaceCheckParts["rpc"], keys: string[]): Promise<(ReadEntry | undefined)[]> {
  if (keys.length === 0) return [];
  const { entries, latestLedger } = await rpc.getLedgerEntries(keys).catch(rethrowUpstream);
  const byKey = new Map(entries.map(({ key, xdr, liveUntilLedgerSeq }) => {
    return [key, { xdr, isLive: liveUntilLedgerSeq === undefined || liveUntilLedgerSeq >= latestLedger }];
  }));
  return keys.map((key) => byKey.get(key));
}

/** As `read`, also undefined where there is no key. */
async function readSome(rpc: InterfaceCheckParts["rpc"], keys: (string | undefined)[]) {
  const asked = [...new Set(keys.filter((key) => key !== undefined))];
  const found = await read(rpc, asked);
  return keys.map((key) => key === undefined ? undefined : found[asked.indexOf(key)]);
}

/** The hash of an executable's wasm. @param tagged the entry at the key of an external one */
function hashOf(executable: Executable, tagged: ReadEntry | undefined): string | undefined {
  if (executable.kind === "wasm") return executable.hash;
  if (tagged === undefined) return undefined;
  try {
    return entryValue(tagged.xdr, asHash);
  } catch {
    return undefined;
  }
}

function codeKey(hash: string): string {
  return xdr.LedgerKey.contractCode(new xdr.LedgerKeyContractCode({ hash })).toXdr("base64");
}

function compared(name: ContractName, codeXdr: string): Pick<ContractFinding, "state" | "looksLike" | "differences"> {
  const spec = nodeXdr("a contract's code", () => {
    const data = xdr.LedgerEntryData.fromXdr(codeXdr, "base64");
    if (data.type !== "contractCode") throw new TypeError(`got an entry of type ${data.type}`);
    return new Uint8Array(data.contractCode.code);
  });
  let found: ContractSpec;
  try {
    found = specOf(spec);
  } catch (error) {
    return { state: "another", differences: [(error as Error).message] };
  }
  const differences = interfaceDifferences(name, found);
  if (differences.length > 0) {
    const looksLike = CONTRACTS.find((other) => other !== name && interfaceDifferences(other, found).length === 0);
    return { state: "another", looksLike, differences };
  }
  const errors = errorDifferences(name, found);
  return { state: errors.length === 0 ? "as_expected" : "other_errors", differences: errors };
}

function interfaceDifferences(name: ContractName, found: ContractSpec): string[] {
  const { functions, structs } = CONTRACT_INTERFACES[name];
  const ofFunctions = Object.entries(functions).flatMap(([called, expected]) => {
    const actual = found.functions[called];
    if (actual === undefined) return [`it has no function ${called}`];
    return actual === expected ? [] : [`${called} is ${actual}, expected ${expected}`];
  });
  const ofStructs = Object.entries(structs).flatMap(([struct, fields]) =>
    Object.entries(fields).flatMap(([field, expected]) => {
      const actual = found.structs[struct]?.[field];
      return actual === expected ? [] : [`${struct}.${field} is ${actual ?? "not there"}, expected ${expected}`];
    })
  );
  return [...ofFunctions, ...ofStructs];
}

/** Errors with another name, which refusals would report by the wrong name. A missing error is no difference. */
function errorDifferences(name: ContractName, found: ContractSpec): string[] {
  return Object.entries(CONTRACT_ERRORS[name]).flatMap(([number, expected]) => {
    const actual = found.errors[Number(number)];
    return actual === undefined || actual === expected ? [] : [`error #${number} is ${actual}, expected ${expected}`];
  });
}

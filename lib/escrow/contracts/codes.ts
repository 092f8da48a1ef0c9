import type { EntryReader } from "../../stellar/entries.ts";
import { CONTRACT_KEYS, type ContractIds, type ContractName, CONTRACTS, missingContract } from "./errors.ts";
import { asExecutable, entryValue, type Executable } from "../decode.ts";
import type { ReadKind } from "../reads/source_choice.ts";
import { instanceKey } from "../reads/storage_keys.ts";

export interface ContractCodes {
  /**
   * The code of the contracts that a kind of read uses, as a text that changes with the code. Read once a ledger.
   * @throws {GatewayError} `upstream_error` naming the contract that does not exist on this network
   */
  of(kind: ReadKind): Promise<string>;
  /** Whether a contract is a built-in asset contract; false when unknown. */
  isAssetContract(contract: string): Promise<boolean>;
}

const SPEAKS_WITH: Record<ReadKind, ContractName[]> = {
  device: ["device_registry", "agent_registry", "payment_escrow"],
  policy: ["agent_registry"],
  walletDevices: ["device_registry"],
  pending: ["payment_escrow"],
};

/** Watches the code of the contracts through their instances, and through the entries of external executables. */
export function createContractCodes(
  { entries, contracts }: { entries: EntryReader; contracts: ContractIds },
): ContractCodes {
  const idOf = (name: ContractName) => contracts[CONTRACT_KEYS[name]];
  const instanceKeys = CONTRACTS.map((name) => instanceKey(idOf(name)));
  /** By the instance's XDR, which seldom changes and which every read needs. */
  const decoded = new Map<string, Executable>();
  /** Keys of external executables, as the newest instances name them. */
  let external: string[] = [];

  function executableOf(instanceXdr: string): Executable {
    const known = decoded.get(instanceXdr);
    if (known !== undefined) return known;
    if (decoded.size >= 100) decoded.clear();
    const found = entryValue(instanceXdr, asExecutable);
    decoded.set(instanceXdr, found);
    return found;
  }

  /** The code of each contract, undefined where there is none: all in one read, unless an instance changed. */
  async function codes(): Promise<(string | undefined)[]> {
    const asked = external;
    const keys = [...instanceKeys, ...asked];
    const { entries: found } = entries.readNow(keys) ?? await entries.read(keys);
    const executables = instanceKeys.map((_, index) => found[index] && executableOf(found[index].xdr));
    external = executables.flatMap((one) => one?.kind === "external" ? [one.key] : []);
    if (external.join() !== asked.join()) return await codes();
    let next = instanceKeys.length;
    return executables.map((one) => {
      if (one?.kind === "external") return `${one.key} ${found[next++]?.xdr}`;
      return one?.kind === "wasm" ? one.hash : one?.kind;
    });
  }

  return {
    async of(kind) {
      const running = await codes();
      return SPEAKS_WITH[kind].map((name) => {
        const code = running[CONTRACTS.indexOf(name)];
        if (code === undefined) throw missingContract(name, idOf(name));
        return code;
      }).join(" ");
    },
    async isAssetContract(contract) {
      try {
        const { entries: [instance] } = await entries.read([instanceKey(contract)]);
        return instance !== undefined && executableOf(instance.xdr).kind === "asset";
      } catch {
        // The refusal then has a number instead of a name.
        return false;
      }
    },
  };
}

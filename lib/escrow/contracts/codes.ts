import type { EntryReader } from "../../stellar/entries.ts";
import { CONTRACT_KEYS, type ContractIds, type ContractName, CONTRACTS, missingContract } from "./errors.ts";
import { asCode, entryValue } from "../decode.ts";
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

/** Watches the code of the contracts through their instances. */
export function createContractCodes(
  { entries, contracts }: { entries: EntryReader; contracts: ContractIds },
): ContractCodes {
  const idOf = (name: ContractName) => contracts[CONTRACT_KEYS[name]];
  const instanceKeys = CONTRACTS.map((name) => instanceKey(idOf(name)));
  /** By the instance's XDR, which seldom changes and which every read needs. */
  const decoded = new Map<string, string>();

  function code(instanceXdr: string): string {
    const known = decoded.get(instanceXdr);
    if (known !== undefined) return known;
    if (decoded.size >= 100) decoded.clear();
    const found = entryValue(instanceXdr, asCode);
    decoded.set(instanceXdr, found);
    return found;
  }

  return {
    async of(kind) {
      const instances = (entries.readNow(instanceKeys) ?? await entries.read(instanceKeys)).entries;
      return SPEAKS_WITH[kind].map((name) => {
        const instance = instances[CONTRACTS.indexOf(name)];
        if (instance === undefined) throw missingContract(name, idOf(name));
        return code(instance.xdr);
      }).join(" ");
    },
    async isAssetContract(contract) {
      try {
        const { entries: [instance] } = await entries.read([instanceKey(contract)]);
        return instance !== undefined && code(instance.xdr) === "asset";
      } catch {
        // The refusal then has a number instead of a name.
        return false;
      }
    },
  };
}

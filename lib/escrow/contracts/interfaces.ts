import type { ContractName } from "./errors.ts";

/** The part of a contract's interface that the gateway uses. */
export interface ContractInterface {
  /** Argument types in order, and the returned type. Calls are positional, so names of arguments do not matter. */
  functions: Record<string, string>;
  /** Fields of the structs that are decoded, by name. */
  structs: Record<string, Record<string, string>>;
}

/** The functions that the gateway calls or builds calls of; a contract may have more. */
export const CONTRACT_INTERFACES: Record<ContractName, ContractInterface> = {
  device_registry: {
    functions: {
      register: "(Address, BytesN<32>, Address)",
      revoke: "(Address, BytesN<32>)",
      get_device: "(BytesN<32>) -> DeviceInfo",
      wallet_device_count: "(Address) -> u32",
      wallet_device_at: "(Address, u32) -> BytesN<32>",
    },
    structs: { DeviceInfo: { owner: "Address", agent: "Address", status: "u32", created_at: "u64" } },
  },
  agent_registry: {
    functions: {
      register_agent: "(Address, BytesN<32>, Address, i128, Address, u64)",
      revoke_agent: "(Address, BytesN<32>)",
      get_policy: "(BytesN<32>) -> AgentPolicy",
    },
    structs: { AgentPolicy: { agent: "Address", max_amount: "i128", asset: "Address", expires_at: "u64" } },
  },
  payment_escrow: {
    functions: {
      fund_escrow: "(Address, Address, BytesN<32>, i128)",
      authorize: "(Address, BytesN<32>, Address, Address, i128, u64)",
      claim: "(Address, Address)",
      defund_escrow: "(Address, BytesN<32>, i128)",
      sweep_on_revoke: "(Address, BytesN<32>, Address) -> i128",
      balance_of: "(BytesN<32>) -> i128",
      pending_balance: "(Address) -> i128",
    },
    structs: {},
  },
};

import { type ContractName, CONTRACTS } from "./errors.ts";

/** Types of the arguments of operations. `source` is the account that acts. */
export const ARGUMENT_TYPES = {
  source: "Address",
  agent: "Address",
  merchant: "Address",
  asset: "Address",
  deviceHash: "BytesN<32>",
  amount: "i128",
  maxAmount: "i128",
  nonce: "u64",
  expiresAt: "u64",
} as const;
export type Argument = keyof typeof ARGUMENT_TYPES;

/** A contract's function that is an operation, with its arguments in order. */
export interface OperationFunction {
  contract: ContractName;
  function: string;
  args: Argument[];
  returns?: string;
}

/** The functions of the nine operations. */
export const OPERATION_FUNCTIONS = {
  authorize: {
    contract: "payment_escrow",
    function: "authorize",
    args: ["source", "deviceHash", "merchant", "asset", "amount", "nonce"],
  },
  claim: { contract: "payment_escrow", function: "claim", args: ["asset", "source"] },
  registerAgent: {
    contract: "agent_registry",
    function: "register_agent",
    args: ["source", "deviceHash", "agent", "maxAmount", "asset", "expiresAt"],
  },
  revokeAgent: { contract: "agent_registry", function: "revoke_agent", args: ["source", "deviceHash"] },
  fundEscrow: {
    contract: "payment_escrow",
    function: "fund_escrow",
    args: ["asset", "source", "deviceHash", "amount"],
  },
  defundEscrow: { contract: "payment_escrow", function: "defund_escrow", args: ["asset", "deviceHash", "amount"] },
  registerDevice: { contract: "device_registry", function: "register", args: ["source", "deviceHash", "agent"] },
  revokeDevice: { contract: "device_registry", function: "revoke", args: ["source", "deviceHash"] },
  sweepEscrow: {
    contract: "payment_escrow",
    function: "sweep_on_revoke",
    args: ["asset", "deviceHash", "agent"],
    returns: "i128",
  },
} satisfies Record<string, OperationFunction>;
export type OperationKind = keyof typeof OPERATION_FUNCTIONS;
export const OPERATION_KINDS = Object.keys(OPERATION_FUNCTIONS) as OperationKind[];

/** The function of an operation. */
export function functionOf(kind: OperationKind): OperationFunction {
  return OPERATION_FUNCTIONS[kind];
}

/** The types of a function's arguments: `(Address, BytesN<32>)`. */
export function argumentTypes({ args }: OperationFunction): string {
  return `(${args.map((name) => ARGUMENT_TYPES[name]).join(", ")})`;
}

/** The part of a contract's interface that the gateway uses. */
export interface ContractInterface {
  /** Argument types in order, and the returned type. Calls are positional, so names of arguments do not matter. */
  functions: Record<string, string>;
  /** Fields of the structs that are decoded, by name. */
  structs: Record<string, Record<string, string>>;
}

/** The functions that read, and the structs that they return. */
const GETTERS: Record<ContractName, ContractInterface> = {
  device_registry: {
    functions: {
      get_device: "(BytesN<32>) -> DeviceInfo",
      wallet_device_count: "(Address) -> u32",
      wallet_device_at: "(Address, u32) -> BytesN<32>",
    },
    structs: { DeviceInfo: { owner: "Address", agent: "Address", status: "u32", created_at: "u64" } },
  },
  agent_registry: {
    functions: { get_policy: "(BytesN<32>) -> AgentPolicy" },
    structs: { AgentPolicy: { agent: "Address", max_amount: "i128", asset: "Address", expires_at: "u64" } },
  },
  payment_escrow: {
    functions: { balance_of: "(BytesN<32>) -> i128", pending_balance: "(Address) -> i128" },
    structs: {},
  },
};

/** The functions that the gateway calls or builds calls of; a contract may have more. */
export const CONTRACT_INTERFACES = Object.fromEntries(CONTRACTS.map((contract) => {
  const operations = OPERATION_KINDS.map(functionOf).filter((one) => one.contract === contract);
  const signatures = operations.map((one) => {
    return [one.function, argumentTypes(one) + (one.returns === undefined ? "" : ` -> ${one.returns}`)];
  });
  const { functions, structs } = GETTERS[contract];
  return [contract, { functions: { ...Object.fromEntries(signatures), ...functions }, structs }];
})) as Record<ContractName, ContractInterface>;

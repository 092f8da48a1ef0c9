import { GatewayError } from "../../errors.ts";

/** The three contracts, by their names in messages. */
export const CONTRACTS = ["device_registry", "agent_registry", "payment_escrow"] as const;
export type ContractName = (typeof CONTRACTS)[number];

/** Their ids, `C…`, on the network the gateway serves. */
export interface ContractIds {
  deviceRegistry: string;
  agentRegistry: string;
  paymentEscrow: string;
}

/** The field of each contract's id. */
export const CONTRACT_KEYS = {
  device_registry: "deviceRegistry",
  agent_registry: "agentRegistry",
  payment_escrow: "paymentEscrow",
} as const satisfies Record<ContractName, keyof ContractIds>;

/** The name of the contract with this id, undefined when it is none of the three. */
export function contractName(ids: ContractIds, id: string): ContractName | undefined {
  if (id === ids.paymentEscrow) return "payment_escrow";
  if (id === ids.deviceRegistry) return "device_registry";
  if (id === ids.agentRegistry) return "agent_registry";
  return undefined;
}

/** Names of the three contracts' errors, by number. */
export const CONTRACT_ERRORS: Record<ContractName, Record<number, string>> = {
  device_registry: {
    1: "AlreadyInitialized",
    2: "DeviceNotFound",
    3: "NotOwner",
    4: "AlreadyRegistered",
  },
  agent_registry: {
    1: "AlreadyInitialized",
    2: "AgentNotFound",
    3: "AlreadyRegistered",
    4: "InvalidPolicy",
  },
  payment_escrow: {
    1: "AlreadyInitialized",
    2: "InsufficientBalance",
    3: "AgentNotAuthorized",
    4: "NotDeviceOwner",
    5: "NothingToClaim",
    6: "DuplicateAuth",
    7: "AgentStillActive",
    8: "DeviceNotRegistered",
  },
};

/** Errors of the protocol's built-in asset contract (`ContractError` in soroban-env-host; SEP-41 tokens of Stellar assets). */
export const ASSET_CONTRACT_ERRORS: Record<number, string> = {
  2: "OperationNotSupportedError",
  3: "AlreadyInitializedError",
  4: "UnauthorizedError",
  5: "AuthenticationError",
  6: "AccountMissingError",
  7: "AccountIsNotClassic",
  8: "NegativeAmountError",
  9: "AllowanceError",
  10: "BalanceError",
  11: "BalanceDeauthorizedError",
  12: "OverflowError",
  13: "TrustlineMissingError",
  14: "InsufficientAccountReserve",
  15: "TooManyAccountSubentries",
};

/** The names of all known errors. */
export const NAMED_CONTRACT_ERRORS: string[] = [
  ...new Set([...Object.values(CONTRACT_ERRORS), ASSET_CONTRACT_ERRORS].flatMap((names) => Object.values(names))),
];

/** The error for a contract of the settings that does not exist: its id is wrong, or the network was reset. */
export function missingContract(name: string, contract: string): GatewayError {
  return new GatewayError("upstream_error", `${name} ${contract} does not exist on this network`);
}

import { nativeToScVal, xdr } from "@stellar/stellar-sdk/base";
import { createHash } from "node:crypto";
import { z } from "zod";
import type { ContractCall } from "../../stellar/transactions/contract_call.ts";
import { CONTRACT_KEYS, type ContractIds, contractName } from "../contracts/errors.ts";
import {
  type Argument,
  ARGUMENT_TYPES,
  functionOf,
  OPERATION_FUNCTIONS,
  OPERATION_KINDS,
  type OperationKind,
} from "../contracts/interfaces.ts";
import { asAddress, asHash, asI128, asU64, type Decode } from "../decode.ts";
import { EXAMPLE } from "../example_values.ts";
import { addressVal, hashVal } from "../reads/storage_keys.ts";
import {
  accountAddress,
  address,
  amount,
  contractId,
  deviceHash,
  expiresAt,
  maxAmount,
  mustBeOneOf,
  nonce,
} from "../values.ts";

const kindOf = <T extends string>(kind: T) => z.literal(kind).meta({ description: "Kind of the operation." });
const merchant = accountAddress.meta({
  description: "Merchant that may claim the payment: an account (G… with its checksum).",
  example: EXAMPLE.merchant,
});
const agent = accountAddress.meta({ description: "Agent of the card: an account (G… with its checksum)." });

/** The fields of each kind of operation, besides `kind`. The gateway refuses unknown fields by name. */
const kinds = {
  authorize: z.strictObject({
    kind: kindOf("authorize"),
    deviceHash,
    merchant,
    asset: contractId,
    amount,
    nonce: nonce.optional().meta({
      description:
        "Number of the payment, above the previous payment's: a decimal string from 1 to 2^64 − 1. The gateway fills in the next number when nonce is absent.",
    }),
  }).meta({ id: "AuthorizeOperation", description: "The agent reserves a payment of a card for a merchant." }),
  claim: z.strictObject({ kind: kindOf("claim"), asset: contractId })
    .meta({ id: "ClaimOperation", description: "The merchant collects all its pending payments." }),
  registerAgent: z.strictObject({
    kind: kindOf("registerAgent"),
    deviceHash,
    agent,
    asset: contractId,
    maxAmount,
    expiresAt: expiresAt.optional(),
  }).meta({
    id: "RegisterAgentOperation",
    description: "The owner lets an agent pay with a card, within a policy.",
  }),
  revokeAgent: z.strictObject({ kind: kindOf("revokeAgent"), deviceHash })
    .meta({ id: "RevokeAgentOperation", description: "The owner ends the agent's right to pay with a card." }),
  fundEscrow: z.strictObject({ kind: kindOf("fundEscrow"), deviceHash, asset: contractId, amount })
    .meta({ id: "FundEscrowOperation", description: "The owner pays into the card's escrow." }),
  defundEscrow: z.strictObject({ kind: kindOf("defundEscrow"), deviceHash, asset: contractId, amount })
    .meta({ id: "DefundEscrowOperation", description: "The owner takes money back from the card's escrow." }),
  registerDevice: z.strictObject({ kind: kindOf("registerDevice"), deviceHash, agent })
    .meta({ id: "RegisterDeviceOperation", description: "The owner registers a card." }),
  revokeDevice: z.strictObject({ kind: kindOf("revokeDevice"), deviceHash })
    .meta({ id: "RevokeDeviceOperation", description: "The owner gives a card up." }),
  sweepEscrow: z.strictObject({
    kind: kindOf("sweepEscrow"),
    deviceHash,
    asset: contractId,
    agent: address.meta({
      description: "Agent of the card: an account (G…) or a contract (C…) with its checksum.",
      example: EXAMPLE.agent,
    }),
  }).meta({
    id: "SweepEscrowOperation",
    description: "The owner takes back all that is left in the card's escrow.",
  }),
};

/** Ends the message for a kind that is none. */
function unknownKind(input: unknown): string {
  const { kind } = input as { kind?: unknown };
  return mustBeOneOf(OPERATION_KINDS).error({ input: kind });
}

/** An operation as it is asked for. */
export const operation = z.discriminatedUnion(
  "kind",
  [
    kinds.authorize,
    kinds.claim,
    kinds.registerAgent,
    kinds.revokeAgent,
    kinds.fundEscrow,
    kinds.defundEscrow,
    kinds.registerDevice,
    kinds.revokeDevice,
    kinds.sweepEscrow,
  ],
  { error: ({ code, input }) => (code === "invalid_union" ? unknownKind(input) : "must be an object with a kind") },
).meta({ id: "Operation", description: "The operation of a transaction; kind selects its fields." });
export type Operation = z.output<typeof operation>;

/** An operation as it will be called, with what the gateway filled in. */
export const preparedOperation = z.discriminatedUnion("kind", [
  kinds.authorize.extend({ nonce }).meta({
    id: "PreparedAuthorizeOperation",
    description: "The agent reserves a payment of a card for a merchant, with the nonce of the payment.",
  }),
  kinds.claim,
  kinds.registerAgent.extend({ expiresAt }).meta({
    id: "PreparedRegisterAgentOperation",
    description: "The owner lets an agent pay with a card, within a policy; expiresAt is always present.",
  }),
  kinds.revokeAgent,
  kinds.fundEscrow,
  kinds.defundEscrow,
  kinds.registerDevice,
  kinds.revokeDevice,
  kinds.sweepEscrow,
]).meta({
  id: "PreparedOperation",
  description: "The operation of a prepared transaction, with the fields that the gateway filled in.",
});
export type PreparedOperation = z.output<typeof preparedOperation>;

/** How an argument of each type is written. Numbers are decimal. */
const ENCODERS = {
  "Address": addressVal,
  "BytesN<32>": hashVal,
  "i128": (decimal: string) => nativeToScVal(BigInt(decimal), { type: "i128" }),
  "u64": (decimal: string) => xdr.ScVal.scvU64(BigInt(decimal)),
};

const DECODERS: Record<keyof typeof ENCODERS, Decode<string>> = {
  "Address": asAddress,
  "BytesN<32>": asHash,
  "i128": (value) => asI128(value).toString(),
  "u64": (value) => asU64(value).toString(),
};

/** The contract call that an operation is; `source` is the account that acts. */
export function contractCall(contracts: ContractIds, source: string, operation: PreparedOperation): ContractCall {
  const { contract, function: name, args } = functionOf(operation.kind);
  const values = { source, ...operation } as Partial<Record<Argument, string | number | null>>;
  const encoded = args.map((arg) => ENCODERS[ARGUMENT_TYPES[arg]](String(values[arg] ?? 0)));
  const call = { contract: contracts[CONTRACT_KEYS[contract]], function: name, args: encoded };
  if (operation.kind !== "fundEscrow") return call;
  const transferred = [addressVal(source), addressVal(contracts.paymentEscrow), encoded[args.indexOf("amount")]!];
  return { ...call, under: [{ contract: operation.asset, function: "transfer", args: transferred }] };
}

/** Which operation a call is, undefined when it is none. */
export function operationKind(contracts: ContractIds, call: ContractCall): OperationKind | undefined {
  const ours = contractName(contracts, call.contract);
  return OPERATION_KINDS.find((kind) => {
    const { contract, function: name } = functionOf(kind);
    return contract === ours && name === call.function;
  });
}

/** The arguments of a call by name. Amounts, nonce and times are decimal; `expiresAt` is 0 for never. */
export type CallArguments = Partial<Record<Argument, string>>;

/** The arguments of a call, undefined when it is no operation or has other arguments. */
export function callArguments(contracts: ContractIds, call: ContractCall): CallArguments | undefined {
  const kind = operationKind(contracts, call);
  if (kind === undefined) return undefined;
  try {
    const values = functionOf(kind).args.map((arg, at) => [arg, DECODERS[ARGUMENT_TYPES[arg]](call.args[at]!)]);
    return Object.fromEntries(values);
  } catch {
    return undefined;
  }
}

/** Of this function one argument differs between two calls that do the same. */
const NONCE_AT = OPERATION_FUNCTIONS.authorize.args.indexOf("nonce");

/** Alike for two calls that do the same, whatever their nonces: 64 hex digits. */
export function operationDigest({ contract, function: name, args }: ContractCall): string {
  const means = args.filter((_, index) => name !== "authorize" || index !== NONCE_AT).map((arg) => arg.toXdr("base64"));
  return createHash("sha256").update(JSON.stringify([contract, name, ...means])).digest("hex");
}

/** Why the gateway does not submit this call, undefined when it is one of the nine operations. */
export function refuseCall(contracts: ContractIds, call: ContractCall): string | undefined {
  const ours = contractName(contracts, call.contract);
  if (ours === undefined) return `must call one of the gateway's contracts, got a call of ${call.contract}`;
  if (operationKind(contracts, call) !== undefined) return undefined;
  const names = OPERATION_KINDS.map(functionOf).filter((one) => one.contract === ours)
    .map((one) => one.function).join(", ");
  return `must call one of ${names} of ${ours}, got ${JSON.stringify(call.function.slice(0, 40))}`;
}

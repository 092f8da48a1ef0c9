import { xdr } from "@stellar/stellar-sdk/base";
import { createHash } from "node:crypto";
import { z } from "zod";
import type { ContractCall } from "../../stellar/transactions/contract_call.ts";
import { type ContractIds, contractName } from "../contracts/errors.ts";
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

/** The schema of each kind of operation. It refuses unknown fields by name. */
const kinds = {
  /** By the agent: reserves a payment of a card for a merchant. Without a nonce the gateway fills in the next one. */
  authorize: z.strictObject({
    kind: kindOf("authorize"),
    deviceHash,
    merchant,
    asset: contractId,
    amount,
    nonce: nonce.optional(),
  }).meta({ id: "AuthorizeOperation" }),
  /** By the merchant: collects all pending payments. */
  claim: z.strictObject({ kind: z.literal("claim"), asset: contractId }).meta({ id: "ClaimOperation" }),
  /** By the owner, as all below: lets an agent pay with a card, within a policy. */
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

export const OPERATION_KINDS = Object.keys(kinds) as (keyof typeof kinds)[];

/** The end of the message for an unknown kind. */
function unknownKind(input: unknown): string {
  const { kind } = input as { kind?: unknown };
  return mustBeOneOf(OPERATION_KINDS).error({ input: kind });
}

/** An operation in a request. */
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

/** An operation with the fields that the gateway filled in. */
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

const i128 = (decimal: string) => xdr.ScVal.scvI128(i128Parts(BigInt(decimal)));
const u64 = (value: string | number) => xdr.ScVal.scvU64(BigInt(value));

function i128Parts(value: bigint): xdr.Int128Parts {
  return new xdr.Int128Parts({ hi: value >> 64n, lo: value & 0xffff_ffff_ffff_ffffn });
}

/** The contract call of an operation; `source` acts. Arguments are in the order of the contracts' interfaces. */
export function contractCall(contracts: ContractIds, source: string, op: PreparedOperation): ContractCall {
  const { deviceRegistry, agentRegistry, paymentEscrow } = contracts;
  const call = (contract: string, name: string, ...args: xdr.ScVal[]): ContractCall => ({
    contract,
    function: name,
    args,
  });
  const actor = addressVal(source);
  switch (op.kind) {
    case "authorize": {
      const { deviceHash, merchant, asset, amount, nonce } = op;
      const to = [addressVal(merchant), addressVal(asset), i128(amount), u64(nonce)];
      return call(paymentEscrow, "authorize", actor, hashVal(deviceHash), ...to);
    }
    case "claim":
      return call(paymentEscrow, "claim", addressVal(op.asset), actor);
    case "registerAgent": {
      const { deviceHash, agent, maxAmount, asset, expiresAt } = op;
      const policy = [addressVal(agent), i128(maxAmount), addressVal(asset), u64(expiresAt ?? 0)];
      return call(agentRegistry, "register_agent", actor, hashVal(deviceHash), ...policy);
    }
    case "revokeAgent":
      return call(agentRegistry, "revoke_agent", actor, hashVal(op.deviceHash));
    case "fundEscrow": {
      const [asset, amount] = [addressVal(op.asset), i128(op.amount)];
      const fund = call(paymentEscrow, "fund_escrow", asset, actor, hashVal(op.deviceHash), amount);
      return { ...fund, under: [call(op.asset, "transfer", actor, addressVal(paymentEscrow), amount)] };
    }
    case "defundEscrow":
      return call(paymentEscrow, "defund_escrow", addressVal(op.asset), hashVal(op.deviceHash), i128(op.amount));
    case "registerDevice":
      return call(deviceRegistry, "register", actor, hashVal(op.deviceHash), addressVal(op.agent));
    case "revokeDevice":
      return call(deviceRegistry, "revoke", actor, hashVal(op.deviceHash));
    case "sweepEscrow":
      return call(
        paymentEscrow,
        "sweep_on_revoke",
        addressVal(op.asset),
        hashVal(op.deviceHash),
        addressVal(op.agent),
      );
  }
}

/** The functions of the nine operations, by contract. */
const FUNCTIONS: Record<NonNullable<ReturnType<typeof contractName>>, Record<string, Operation["kind"]>> = {
  device_registry: { register: "registerDevice", revoke: "revokeDevice" },
  agent_registry: { register_agent: "registerAgent", revoke_agent: "revokeAgent" },
  payment_escrow: {
    authorize: "authorize",
    claim: "claim",
    fund_escrow: "fundEscrow",
    defund_escrow: "defundEscrow",
    sweep_on_revoke: "sweepEscrow",
  },
};

/** The operation of a call, undefined when it is none. */
export function operationKind(contracts: ContractIds, call: ContractCall): Operation["kind"] | undefined {
  const ours = contractName(contracts, call.contract);
  return ours !== undefined && Object.hasOwn(FUNCTIONS[ours], call.function)
    ? FUNCTIONS[ours][call.function]
    : undefined;
}

/** The position of the nonce, in functions that have one. */
const NONCE_ARGUMENT: Record<string, number> = { authorize: 5 };

/** The nonce of a call, decimal; undefined where it has none. */
export function nonceIn({ function: name, args }: ContractCall): string | undefined {
  const nonce = args[NONCE_ARGUMENT[name] ?? args.length];
  return nonce?.type === "scvU64" ? nonce.u64.toString() : undefined;
}

/** 64 hex digits, equal for two calls that differ in their nonces only. */
export function operationDigest({ contract, function: name, args }: ContractCall): string {
  const means = args.filter((_, index) => index !== NONCE_ARGUMENT[name]).map((arg) => arg.toXdr("base64"));
  return createHash("sha256").update(JSON.stringify([contract, name, ...means])).digest("hex");
}

/** Why the gateway does not submit a call; undefined for the nine operations. */
export function refuseCall(contracts: ContractIds, call: ContractCall): string | undefined {
  const ours = contractName(contracts, call.contract);
  if (ours === undefined) return `must call one of the gateway's contracts, got a call of ${call.contract}`;
  if (operationKind(contracts, call) !== undefined) return undefined;
  const names = Object.keys(FUNCTIONS[ours]).join(", ");
  return `must call one of ${names} of ${ours}, got ${JSON.stringify(call.function.slice(0, 40))}`;
}

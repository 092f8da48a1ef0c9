import { Hono } from "hono";
import { z } from "zod";
import { EXAMPLE } from "../../escrow/example_values.ts";
import { address, amountAnswer, contractId, deviceHash, unixSeconds } from "../../escrow/values.ts";
import { endpoint } from "../endpoint.ts";
import type { AppEnv } from "../request_context.ts";

const hashParam = z.object({ hash: deviceHash });

const agent = address.meta({
  description: "Agent that may pay with the card: an account (G…) or a contract (C…).",
  example: EXAMPLE.agent,
});

const maxAmount = amountAnswer.meta({
  description: "Most that one payment may move, in the asset's smallest unit: a decimal string, 0 for no cap.",
  example: "50000000",
});

const policySchema = z.object({
  agent,
  maxAmount,
  asset: contractId,
  expiresAt: unixSeconds.nullable().meta({
    description: "End of the policy in Unix seconds. Null means no end, unless note gives the end.",
  }),
  note: z.string().optional().meta({
    description: "Only present when the end of the policy is larger than a JSON number can hold.",
    example: "expires at 18446744073709551615, more than a JSON number holds",
  }),
}).meta({ id: "Policy", description: "Limits of the card's agent." });

// Not a union of Policy and an object of nulls: code generators have no type for a field that is always null.
const devicePolicy = policySchema.extend({
  agent: agent.nullable(),
  maxAmount: maxAmount.nullable(),
  asset: contractId.nullable(),
}).meta({
  id: "DevicePolicy",
  description: "Limits of the card's agent; all fields are null while no agent is registered.",
});

const deviceSchema = z.object({
  deviceHash,
  owner: address.meta({ description: "Owner of the card: an account (G…) or a contract (C…)." }),
  policy: devicePolicy,
  escrowBalance: amountAnswer.meta({
    description: "Balance of the card's escrow, in the asset's smallest unit: a decimal string.",
  }),
}).meta({ id: "Device", description: "A card (a device) with its policy and its escrow balance." });

/** Cards: owner, policy and escrow balance. */
export const cards = new Hono<AppEnv>()
  .get(
    "/v1/devices/:hash",
    endpoint({
      operationId: "getDevice",
      scopes: ["read"],
      summary: "A card with its policy and its escrow balance",
      params: hashParam,
      response: deviceSchema,
      cached: true,
      errors: ["device_not_found", "upstream_error"],
    }, ({ params }, { reads }) => reads.device(params.hash)),
  )
  .get(
    "/v1/devices/:hash/policy",
    endpoint({
      operationId: "getDevicePolicy",
      scopes: ["read"],
      summary: "The policy of a card's agent",
      description: "The gateway also answers for a card that the device registry does not know.",
      params: hashParam,
      response: policySchema,
      cached: true,
      errors: ["agent_not_found", "upstream_error"],
    }, ({ params }, { reads }) => reads.policy(params.hash)),
  )
  .get(
    "/v1/wallets/:address/devices",
    endpoint({
      operationId: "listWalletDevices",
      scopes: ["read"],
      summary: "The cards of a wallet, in the registry's order",
      params: z.object({ address }),
      response: z.object({
        devices: z.array(deviceHash).meta({
          description: "Hashes of the cards, 64 hex digits each, in the registry's order.",
          example: [EXAMPLE.deviceHash],
        }),
      }).meta({ id: "WalletDevices", description: "The cards of a wallet." }),
      errors: ["upstream_error"],
    }, async ({ params }, { reads }) => ({ devices: await reads.walletDevices(params.address) })),
  );

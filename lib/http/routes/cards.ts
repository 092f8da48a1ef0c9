import { Hono } from "hono";
import { z } from "zod";
import { address, amountAnswer, contractId, deviceHash, unixSeconds } from "../../escrow/values.ts";
import { endpoint } from "../endpoint.ts";
import type { AppEnv } from "../request_context.ts";

const hashParam = z.object({ hash: deviceHash });

const policyAnswer = z.object({
  agent: address,
  maxAmount: amountAnswer.describe("0: no cap"),
  asset: contractId,
  expiresAt: unixSeconds.nullable().describe("Unix seconds; null: never, unless note says when"),
  note: z.string().optional().describe("There when the policy ends at more seconds than a JSON number holds"),
}).meta({ id: "Policy" });

const noPolicy = z.object({ agent: z.null(), maxAmount: z.null(), asset: z.null(), expiresAt: z.null() })
  .meta({ id: "NoPolicy" });

const deviceAnswer = z.object({
  deviceHash,
  owner: address,
  policy: z.union([policyAnswer, noPolicy]).describe("All null while no agent is registered"),
  escrowBalance: amountAnswer,
}).meta({ id: "Device" });

/** Cards: who owns them, what their agent may spend, what their escrow holds. */
export const cards = new Hono<AppEnv>()
  .get(
    "/v1/devices/:hash",
    endpoint({
      operationId: "getDevice",
      scopes: ["read"],
      summary: "A device with its policy and its escrow balance",
      params: hashParam,
      answer: deviceAnswer,
      cached: true,
      errors: ["device_not_found", "upstream_error"],
    }, ({ params }, { reads }) => reads.device(params.hash)),
  )
  .get(
    "/v1/devices/:hash/policy",
    endpoint({
      operationId: "getDevicePolicy",
      scopes: ["read"],
      summary: "The policy of a device's agent",
      description: "Answered also for a device that the device registry does not know.",
      params: hashParam,
      answer: policyAnswer,
      cached: true,
      errors: ["agent_not_found", "upstream_error"],
    }, ({ params }, { reads }) => reads.policy(params.hash)),
  )
  .get(
    "/v1/wallets/:address/devices",
    endpoint({
      operationId: "listWalletDevices",
      scopes: ["read"],
      summary: "The devices of a wallet, in the registry's order",
      params: z.object({ address }),
      answer: z.object({ devices: z.array(deviceHash) }).meta({ id: "WalletDevices" }),
      errors: ["upstream_error"],
    }, async ({ params }, { reads }) => ({ devices: await reads.walletDevices(params.address) })),
  );

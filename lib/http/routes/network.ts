import { Hono } from "hono";
import { z } from "zod";
import { contractId } from "../../escrow/values.ts";
import { endpoint } from "../endpoint.ts";
import type { AppEnv } from "../exchange.ts";

const networkAnswer = z.object({
  rpcUrl: z.string().describe("An RPC node of this network that is well, without what is secret in its URL"),
  networkPassphrase: z.string(),
  contracts: z.object({ deviceRegistry: contractId, agentRegistry: contractId, paymentEscrow: contractId }),
  assets: z.array(contractId).nullable().describe(
    "The contracts of the assets that are dealt in; null: none is refused",
  ),
}).meta({ id: "Network" });

export type NetworkAnswer = z.infer<typeof networkAnswer>;

/** Which network and which contracts this gateway stands in front of; the same answer is the same object. */
export const network = new Hono<AppEnv>()
  .get(
    "/v1/network",
    endpoint({
      operationId: "getNetwork",
      scopes: ["read"],
      summary: "The network and the contracts behind this gateway",
      answer: networkAnswer,
      cached: true,
      errors: [],
    }, (_input, { network }) => network()),
  );

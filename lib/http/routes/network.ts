import { z } from "zod";
import { contractId } from "../../escrow/values.ts";
import { type AnyRoute, route } from "../route.ts";

const networkAnswer = z.object({
  rpcUrl: z.string().describe("An RPC node of this network that is well, without what is secret in its URL"),
  networkPassphrase: z.string(),
  contracts: z.object({ deviceRegistry: contractId, agentRegistry: contractId, paymentEscrow: contractId }),
});

export type NetworkAnswer = z.infer<typeof networkAnswer>;

/** Which network and which contracts this gateway stands in front of; the same answer is the same object. */
export function networkRoutes(network: () => NetworkAnswer): AnyRoute[] {
  return [
    route({
      method: "get",
      path: "/v1/network",
      scope: "read",
      summary: "The network and the contracts behind this gateway",
      answer: networkAnswer,
      held: true,
      errors: [],
      handle: () => network(),
    }),
  ];
}

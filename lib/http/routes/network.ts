import { z } from "zod";
import { contractId } from "../../escrow/values.ts";
import { type AnyRoute, route } from "../route.ts";

const networkAnswer = z.object({
  rpcUrl: z.string().describe("The RPC node, without what is secret in its URL"),
  networkPassphrase: z.string(),
  contracts: z.object({ deviceRegistry: contractId, agentRegistry: contractId, paymentEscrow: contractId }),
});

export type NetworkAnswer = z.infer<typeof networkAnswer>;

/** Which network and which contracts this gateway stands in front of. */
export function networkRoutes(network: NetworkAnswer): AnyRoute[] {
  return [
    route({
      method: "get",
      path: "/v1/network",
      scope: "read",
      summary: "The network and the contracts behind this gateway",
      answer: networkAnswer,
      held: true,
      errors: [],
      handle: () => network,
    }),
  ];
}

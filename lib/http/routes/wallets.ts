import { z } from "zod";
import type { EscrowReads } from "../../escrow/reads/reads.ts";
import { address, deviceHash } from "../../escrow/values.ts";
import { type AnyRoute, route } from "../route.ts";

/** A wallet's cards. */
export function walletRoutes(reads: EscrowReads): AnyRoute[] {
  return [
    route({
      method: "get",
      path: "/v1/wallets/:address/devices",
      scope: "read",
      summary: "The devices of a wallet, in the registry's order",
      params: z.object({ address }),
      answer: z.object({ devices: z.array(deviceHash) }),
      errors: ["upstream_error"],
      handle: async ({ params }) => ({ devices: await reads.walletDevices(params.address) }),
    }),
  ];
}

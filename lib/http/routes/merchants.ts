import { z } from "zod";
import type { EscrowReads } from "../../escrow/reads/reads.ts";
import { address, amountAnswer } from "../../escrow/values.ts";
import { type AnyRoute, route } from "../route.ts";

/** What a merchant can claim. */
export function merchantRoutes(reads: EscrowReads): AnyRoute[] {
  return [
    route({
      method: "get",
      path: "/v1/merchants/:address/pending",
      scope: "read",
      summary: "The sum of a merchant's pending payments",
      params: z.object({ address }),
      answer: z.object({ pending: amountAnswer }),
      errors: ["upstream_error"],
      handle: async ({ params }) => ({ pending: await reads.pending(params.address) }),
    }),
  ];
}

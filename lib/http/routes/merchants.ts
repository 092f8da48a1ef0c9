import { Hono } from "hono";
import { z } from "zod";
import { address, amountAnswer } from "../../escrow/values.ts";
import { endpoint } from "../endpoint.ts";
import type { AppEnv } from "../exchange.ts";

/** What a merchant can claim. */
export const merchants = new Hono<AppEnv>()
  .get(
    "/v1/merchants/:address/pending",
    endpoint({
      scopes: ["read"],
      summary: "The sum of a merchant's pending payments",
      params: z.object({ address }),
      answer: z.object({ pending: amountAnswer }),
      errors: ["upstream_error"],
    }, async ({ params }, { reads }) => ({ pending: await reads.pending(params.address) })),
  );

import { Hono } from "hono";
import { z } from "zod";
import { address, amountAnswer, deviceHash, unixSeconds } from "../../escrow/values.ts";
import { endpoint } from "../endpoint.ts";
import type { AppEnv } from "../exchange.ts";

/** What a merchant can claim. */
export const merchants = new Hono<AppEnv>()
  .get(
    "/v1/merchants/:address/pending",
    endpoint({
      operationId: "getPendingPayments",
      scopes: ["read"],
      summary: "A merchant's pending payments: their sum, and one by one",
      description:
        "They are temporary entries of the ledger: what is not claimed before it expires is lost to the merchant.",
      params: z.object({ address }),
      answer: z.object({
        pending: amountAnswer.describe("The sum of all of them"),
        payments: z.array(z.object({
          deviceHash,
          amount: amountAnswer,
          authorizedAt: unixSeconds,
          expiresAt: unixSeconds.nullable().describe(
            "About when it can't be claimed any more, reckoned from the pace of the ledgers; null when that is not known",
          ),
        })).nullable().describe(
          "At most 500, the oldest first; null where the contracts' storage can't be read and their functions are asked",
        ),
        more: z.literal(true).optional().describe("There are more than are listed"),
      }).meta({ id: "PendingPayments" }),
      errors: ["upstream_error"],
    }, ({ params }, { reads }) => reads.pending(params.address)),
  );

import { Hono } from "hono";
import { z } from "zod";
import { checkRequest, REFUSAL_REASONS } from "../../escrow/reads/payment_check.ts";
import { address, amountAnswer, contractId, deviceHash, unixSeconds } from "../../escrow/values.ts";
import { endpoint } from "../endpoint.ts";
import type { AppEnv } from "../request_context.ts";

/** What merchants can claim, which payments would be authorised, and how the amounts of an asset are written. */
export const payments = new Hono<AppEnv>()
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
  )
  .post(
    "/v1/payments/check",
    endpoint({
      operationId: "checkPayment",
      scopes: ["read"],
      summary: "Whether the contracts would authorise a payment now",
      description: "What is called ok can be prepared. The reason is the first that applies, in the order of the " +
        "enumeration; agent_not_found also stands for an agent whose account does not exist on the network, agent_mismatch " +
        "for one that is a contract, asset_mismatch for an asset that this gateway does not deal in, insufficient_escrow for an escrow that holds " +
        "enough, but in another asset.",
      body: checkRequest,
      answer: z.union([
        z.object({ ok: z.literal(true) }).meta({ id: "PaymentWouldPass" }),
        z.object({ ok: z.literal(false), reason: z.enum(REFUSAL_REASONS) }).meta({ id: "PaymentWouldFail" }),
      ]).meta({ id: "PaymentVerdict" }),
      errors: ["upstream_error"],
    }, ({ body }, { payments }) => payments.check(body)),
  )
  .get(
    "/v1/assets/:asset",
    endpoint({
      operationId: "getAsset",
      scopes: ["read"],
      summary: "The symbol, the name and the decimals of an asset",
      params: z.object({ asset: contractId }),
      answer: z.object({
        asset: contractId,
        symbol: z.string().describe("native for the network's own. What a token calls itself proves nothing"),
        name: z.string().describe("CODE:ISSUER of an issued asset"),
        decimals: z.int().describe("Digits after the point in one unit"),
      }).meta({ id: "Asset" }),
      errors: ["not_found", "upstream_error"],
    }, ({ params }, { assets }) => assets(params.asset)),
  );

import { Hono } from "hono";
import { z } from "zod";
import { checkRequest, REFUSAL_REASONS } from "../../escrow/reads/payment_check.ts";
import { EXAMPLE } from "../../escrow/example_values.ts";
import { CANNOT_CLAIM } from "../../escrow/operations/payable.ts";
import { address, amountAnswer, contractId, deviceHash, unixSeconds } from "../../escrow/values.ts";
import { endpoint } from "../endpoint.ts";
import type { AppEnv } from "../request_context.ts";
import { count, text } from "../response_fields.ts";

/** Pending payments, payment checks and assets. */
export const payments = new Hono<AppEnv>()
  .get(
    "/v1/merchants/:address/pending",
    endpoint({
      operationId: "getPendingPayments",
      scopes: ["read"],
      summary: "A merchant's pending payments, with their sum",
      description:
        "Pending payments are temporary entries of the ledger. The merchant loses a payment that it does not claim in time.",
      params: z.object({
        address: address.meta({
          description: "Merchant: an account (G…) or a contract (C…) with its checksum.",
          example: EXAMPLE.merchant,
        }),
      }),
      response: z.object({
        pending: amountAnswer.meta({
          description: "Sum of all pending payments, in the asset's smallest unit: a decimal string.",
          example: "40000000",
        }),
        payments: z.array(z.object({
          deviceHash,
          amount: amountAnswer.meta({
            description: "Amount of the payment, in the asset's smallest unit: a decimal string.",
            example: "40000000",
          }),
          authorizedAt: unixSeconds.meta({ description: "Time of the authorisation, in Unix seconds." }),
          expiresAt: unixSeconds.nullable().meta({
            description:
              "Approximate end of the payment in Unix seconds, estimated from the pace of the ledgers. Null while unknown.",
          }),
        })).nullable().meta({
          description:
            "At most 500 payments, oldest first; null when the gateway cannot read the contracts' storage and calls " +
            "their functions instead.",
        }),
        more: z.literal(true).optional().meta({
          description: "Only present when the merchant has more payments than the list.",
        }),
      }).meta({ id: "PendingPayments", description: "A merchant's pending payments." }),
      errors: ["upstream_error"],
    }, ({ params }, { reads }) => reads.pending(params.address)),
  )
  .post(
    "/v1/payments/check",
    endpoint({
      operationId: "checkPayment",
      scopes: ["read"],
      summary: "Check whether the contracts would authorise a payment now",
      description:
        "A payment with ok: true can be prepared. The reason is the first that applies, in the order of the enumeration.\n\n" +
        "- agent_not_found: also when the agent's account does not exist on the network.\n" +
        "- agent_mismatch: also when the agent is a contract.\n" +
        "- asset_mismatch: also when this gateway does not accept the asset.\n" +
        "- insufficient_escrow: also when the escrow holds enough, but in another asset.\n" +
        "- escrow_unfunded: the escrow contract holds too little of the asset for the merchant's pending payments and this one.\n" +
        "- asset_frozen: the issuer froze the escrow contract's balance of the asset.",
      body: checkRequest,
      response: z.union([
        z.object({
          ok: z.literal(true).meta({ description: "True: the contracts would authorise the payment." }),
          warning: z.string().optional().meta({
            description:
              "Why the merchant cannot claim the payment: it has no account, or its trustline for the asset is " +
              "missing, not authorised or full. Only present when the request names the merchant.",
            example: `${CANNOT_CLAIM}: ${EXAMPLE.merchant} has no account on this network`,
          }),
        }).meta({ id: "PaymentWouldPass", description: "The payment would pass." }),
        z.object({
          ok: z.literal(false).meta({
            description: "False: the contracts would refuse the payment, or could not pay it out.",
          }),
          reason: z.enum(REFUSAL_REASONS).meta({
            description: "First reason for which the payment would fail.",
            example: "amount_exceeds_limit",
          }),
        }).meta({ id: "PaymentWouldFail", description: "The payment would fail." }),
      ]).meta({ id: "PaymentVerdict", description: "Whether the payment would pass." }),
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
      response: z.object({
        asset: contractId,
        symbol: text(
          "Symbol of the asset, native for the network's own. A token's symbol proves nothing about the token.",
          "native",
        ),
        name: text("Name of the asset, CODE:ISSUER for an issued asset.", "native"),
        decimals: count("Digits after the decimal point in one unit of the asset.", 7),
      }).meta({ id: "Asset", description: "Names of an asset, and the decimals of its amounts." }),
      errors: ["not_found", "upstream_error"],
    }, ({ params }, { assets }) => assets(params.asset)),
  );

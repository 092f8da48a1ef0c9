import { Hono } from "hono";
import { z } from "zod";
import { checkRequest, REFUSAL_REASONS } from "../../escrow/reads/payment_check.ts";
import { EXAMPLE } from "../../escrow/example_values.ts";
import { CANNOT_CLAIM } from "../../escrow/operations/payable.ts";
import { accountAddress, address, amountAnswer, contractId, deviceHash, unixSeconds } from "../../escrow/values.ts";
import { endpoint } from "../endpoint.ts";
import type { AppEnv } from "../request_context.ts";
import { PAYMENT_STATES } from "../../store/payment.ts";
import { DELIVERY_STATES } from "../../webhooks/delivery_state.ts";
import { anyEventId, count, flag, isoTime, ledgerSequence, nextCursor, text } from "../response_fields.ts";
import { paymentsQuery } from "../validation/payment_query.ts";
import { WEBHOOK_EXAMPLE } from "./deliveries.ts";
import { eventId } from "./events.ts";
import { exportedPayments, PAYMENT_FILE } from "./payment_export.ts";
import { ownIdempotencyKey, ownReference } from "./transactions.ts";

const payment = z.object({
  id: anyEventId("Id of the payment: that of its `payment.authorized` event."),
  state: z.enum(PAYMENT_STATES).meta({
    description:
      "`pending`: no claim of the merchant took the payment yet. `claimed`: one did. `expired`: it ended unclaimed. `unknown`: the " +
      "gateway cannot tell, because the network was reset or events are missing.",
    example: "claimed",
  }),
  expiring: flag("True: the payment is pending, and three quarters of its life are over.", false),
  deviceHash,
  agent: address.nullable().meta({
    description: "Agent that authorised the payment; null when the gateway could not read it.",
    example: EXAMPLE.agent,
  }),
  merchant: address.meta({ description: "Merchant: an account (G…) or a contract (C…).", example: EXAMPLE.merchant }),
  asset: contractId.nullable().meta({
    description: "Contract id (C…) of the asset; null when the gateway could not read it.",
  }),
  amount: text("Amount in the asset's smallest unit: a decimal string.", "40000000"),
  ledger: ledgerSequence("Ledger of the authorisation."),
  authorizedAt: isoTime("Close time of that ledger, UTC."),
  txHash: text("Hash of the transaction that authorised the payment.", EXAMPLE.txHash),
  expiresAtLedger: ledgerSequence(
    "Last ledger in which the merchant can claim, as last read; of the shortest life while the gateway has not read it.",
    18_480,
  ),
  expiresAt: isoTime("Time of that ledger, estimated from the pace of the ledgers, UTC; null while unknown.")
    .nullable(),
  expired: z.object({
    eventId: anyEventId("Id of the `payment.expired` event."),
    ledger: ledgerSequence("First ledger that is known to be without the payment."),
    expiredAt: isoTime("Close time of that ledger, UTC."),
  }).meta({ id: "PaymentExpiry", description: "The end of a payment that its merchant did not claim." }).nullable()
    .meta({
      description: "The payment's end; null unless the state is expired.",
    }),
  claim: z.object({
    eventId: anyEventId("Id of the `payment.claimed` event."),
    txHash: text("Hash of the claim's transaction.", EXAMPLE.txHash),
    ledger: ledgerSequence("Ledger of the claim."),
    claimedAt: isoTime("Close time of that ledger, UTC."),
    asset: contractId.nullable().meta({
      description: "Contract id (C…) of the asset that was paid out; null when the gateway could not read it.",
    }),
  }).meta({ id: "PaymentClaim", description: "The claim that took the payment." }).nullable().meta({
    description: "The claim that took the payment; null unless the state is claimed.",
  }),
  reference: ownReference,
  idempotencyKey: ownIdempotencyKey,
}).meta({ id: "Payment", description: "An authorised payment, and what became of it." });

const paymentWithDeliveries = payment.extend({
  transaction: z.object({
    hash: text("Hash of the transaction: 64 hex digits.", EXAMPLE.txHash),
    ledger: ledgerSequence("Ledger of the transaction."),
    source: accountAddress.nullable().meta({
      description:
        "Account whose sequence number the transaction used; null when the node does not return the transaction.",
      example: EXAMPLE.agent,
    }),
    fee: z.string().nullable().meta({
      description: "Fee that the network charged in stroops, a decimal string; null as source.",
      example: "685899",
    }),
  }).meta({ id: "PaymentTransaction", description: "The transaction that authorised a payment." }),
  deliveries: z.array(
    z.object({
      webhookId: text("Id of the webhook.", WEBHOOK_EXAMPLE),
      eventId: anyEventId("Id of the event."),
      type: text("Type of the event.", "payment.authorized"),
      state: z.enum(DELIVERY_STATES).meta({
        description:
          "`delivered`: the receiver accepted the event. `waiting`: the gateway has not delivered it yet. `retrying`: the delivery " +
          "failed, and a retry is due. `rejected`: the receiver refused it. `dead`: the gateway gave it up. Of the last two a webhook " +
          "keeps its newest 10000 each; an earlier one counts as `delivered`.",
        example: "delivered",
      }),
      attempts: z.int().nullable().meta({
        description:
          "Attempts so far, with those of replays, and those that only checked a failing endpoint. The gateway keeps a webhook's " +
          "newest 1000 attempts, for 30 days by default. Earlier ones may be missing in the number. Null: delivered, and the " +
          "gateway no longer keeps an attempt.",
        example: 1,
      }),
      lastAttemptAt: isoTime("Start of the last attempt, UTC; null before the first, and when it is no longer kept.")
        .nullable(),
      lastStatus: z.int().nullable().meta({
        description:
          "HTTP status of the receiver's response to the last attempt; null without a response, before the first attempt, and " +
          "when the last attempt is no longer kept.",
        example: 200,
      }),
    }).meta({ id: "PaymentDelivery", description: "The delivery of an event of a payment to a webhook." }),
  ).meta({
    description:
      "Deliveries of the payment's events to the calling API key's webhooks. A webhook has those of its filter, of ledgers " +
      "after its creation. Replays of earlier events are not in the list.",
  }),
}).meta({ id: "PaymentWithDeliveries", description: "A payment with its transaction and its deliveries." });

/** Payments, pending payments, payment checks and assets. */
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
    "/v1/payments",
    endpoint(
      {
        operationId: "listPayments",
        scopes: ["read"],
        summary: "Payments with their states, the newest first",
        description:
          "A payment is an authorisation. A claim collects all payments of its merchant that have not ended. latestLedger says up to " +
          "which ledger the states hold.\n\n" +
          "With reference the payments come in the order in which the key prepared their transactions. Such a page may have fewer " +
          "payments than limit although more follow: continue until cursor is null.\n\n" +
          "With Accept text/csv or application/jsonl, or with format, the response is a file: all payments of the query, or limit " +
          "of them. Its rows also have amountUnits, the amount in units of the asset, empty or null for an unknown asset. A file " +
          "that could not be finished breaks off its connection. A key has one export at a time.",
        query: paymentsQuery,
        file: { ...PAYMENT_FILE, pages: exportedPayments },
        response: z.object({
          payments: z.array(payment).meta({ description: "The payments of the page." }),
          cursor: nextCursor(
            "Cursor of the next page; null on the last page.",
            "ZGVzYyAxNzkzNDkxMjA1IDAwMDAwMDUxNTM5NjA3NTUyLTAwMDAwMDAwMDA",
          ),
          latestLedger: ledgerSequence("The payments hold up to this ledger. 0 while the gateway has read none.", 1200),
        }).meta({ id: "PaymentPage", description: "A page of payments." }),
        errors: [],
      },
      async ({ key, query: { format: _, order, limit = 100, cursor, ...filter } }, { paymentReads }) => {
        // Read first, so that the page holds up to this ledger at least.
        const latestLedger = await paymentReads.holdTo();
        return { ...await paymentReads.page({ keyId: key.id, filter, order, limit, cursor }), latestLedger };
      },
    ),
  )
  .get(
    "/v1/payments/:id",
    endpoint({
      operationId: "getPayment",
      scopes: ["read"],
      summary: "One payment with its state, its transaction, and the deliveries to the key's webhooks",
      params: z.object({ id: eventId }),
      response: paymentWithDeliveries,
      errors: ["not_found"],
    }, async ({ key, params }, { paymentReads, webhooks }) => {
      const { payment, events } = await paymentReads.payment(params.id, key.id);
      return { ...payment, deliveries: await webhooks.deliveriesOf(key.id, events) };
    }),
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

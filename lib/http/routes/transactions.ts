import { Hono } from "hono";
import { z } from "zod";
import { operation, preparedOperation } from "../../escrow/operations/operations.ts";
import { OPERATION_KINDS } from "../../escrow/contracts/interfaces.ts";
import { EXAMPLE } from "../../escrow/example_values.ts";
import { accountAddress, reference, transactionHash, unixSeconds } from "../../escrow/values.ts";
import { endpoint } from "../endpoint.ts";
import { outcomeFields } from "../error_fields.ts";
import type { AppEnv } from "../request_context.ts";
import { isoTime, ledgerSequence, nextCursor } from "../response_fields.ts";
import { TRANSACTION_STATUSES } from "../../store/transaction.ts";
import { TRANSACTION_CURSOR, transactionsQuery } from "../validation/transaction_query.ts";
import { exportedTransactions, TRANSACTION_FILE } from "./transaction_export.ts";

const envelopeRule = "must be a base64 transaction envelope";
const XDR_EXAMPLE = "AAAAAgAAAAA6muDJmPRTU0PH/nhNtX6Sc0YezCuNpHtinnV4ir5abw…";

const txHash = (description: string) => z.string().meta({ description, example: EXAMPLE.txHash });

export const ownReference = z.string().nullable().meta({
  description: "Reference that the calling API key gave with prepare; null for none, and for other keys.",
  example: "order 1042",
});
export const ownIdempotencyKey = z.string().nullable().meta({
  description: "Idempotency-Key that the calling API key sent with its submit; null for none, and for other keys.",
  example: "order-1042",
});

/** With an idempotency key the gateway may know no more of an applied transaction than its hash and ledger. */
const OF_ENVELOPE = "Absent only with status success, when the gateway no longer has the envelope.";

const preparedSchema = z.object({
  xdr: z.string().optional().meta({
    description: `Unsigned transaction envelope, base64. ${OF_ENVELOPE}`,
    example: XDR_EXAMPLE,
  }),
  networkPassphrase: z.string().optional().meta({
    description: `Passphrase of the network, which the signature covers. ${OF_ENVELOPE}`,
    example: "Standalone Sandbox Network ; 2026",
  }),
  operation: preparedOperation.optional().meta({
    description: `The operation, with the fields that the gateway filled in. ${OF_ENVELOPE}`,
  }),
  hash: txHash("Hash of the transaction, which the source account signs: 64 hex digits."),
  fee: z.string().optional().meta({
    description: `Most that the transaction can cost in stroops, a decimal string. ${OF_ENVELOPE}`,
    example: "685899",
  }),
  validUntil: unixSeconds.optional().meta({
    description: `End of the envelope's validity (its time bound), in Unix seconds. ${OF_ENVELOPE}`,
  }),
  status: z.literal("success").optional().meta({
    description:
      "Only with an Idempotency-Key: the network has applied this transaction, and the client has nothing left to do.",
  }),
  ledger: ledgerSequence("Ledger that applied the transaction, only with status success.").optional(),
  replaces: txHash(
    "Only with an Idempotency-Key: hash of a transaction for the same operation. The network rejected it and may still apply " +
      "it, but it applies at most one of the two.",
  ).optional(),
  warning: z.string().optional().meta({
    description: "Facts that the client should know before it signs.\n\n" +
      "- Without an Idempotency-Key: this source submitted the same operation before, and its client did not get the outcome. " +
      "The warning names the transaction to look up.\n" +
      "- registerDevice: the wallet has so many cards that the owner cannot revoke all of them, or the card already has an agent.\n" +
      "- authorize: the merchant has too many payments since its last claim, and no claim can ever collect them.\n" +
      "- authorize: the merchant cannot claim the payment now. It has no account, or its trustline for the asset is missing, not " +
      "authorised or full.\n" +
      "- revokeDevice: the next owner who registers the card takes the balance of its escrow.",
    example:
      "this card's escrow still holds 10000000: sweep it first, or the next owner who registers the card can take it",
  }),
}).meta({ id: "PreparedTransaction", description: "A transaction for its source account to sign." });

const statusSchema = z.object({
  hash: txHash("Hash of the transaction: 64 hex digits."),
  status: z.enum(["pending", "success", "failed", "rejected"]).meta({
    description:
      "failed: the network applied the transaction without success, or in no ledger before its time bound. " +
      "rejected: the network refused the transaction.",
    example: "success",
  }),
  ledger: ledgerSequence("Ledger that applied the transaction; absent when no ledger did.").optional(),
  error: z.string().optional().meta({
    description: "Why the transaction failed or was rejected, for people; a program reads the fields below.",
    example: "the network rejected the transaction: txBadSeq",
  }),
  ...outcomeFields,
}).meta({ id: "TransactionStatus", description: "Outcome of a transaction." });
type StatusResponse = z.infer<typeof statusSchema>;

const submittedTransaction = z.object({
  hash: txHash("Hash of the transaction, of a fee bump the outer one: 64 hex digits."),
  kind: z.enum(OPERATION_KINDS).meta({ description: "Kind of its operation.", example: "authorize" }),
  source: accountAddress.meta({
    description: "Account whose sequence number the transaction uses.",
    example: EXAMPLE.agent,
  }),
  status: z.enum(TRANSACTION_STATUSES).meta({
    description:
      "`pending`: the gateway does not know the outcome yet. `failed`: the network applied the transaction without success, or in " +
      "no ledger before its time bound. `rejected`: the network refused the transaction.",
    example: "success",
  }),
  ledger: ledgerSequence("Ledger that applied the transaction; null when no ledger did.").nullable(),
  reference: ownReference,
  idempotencyKey: ownIdempotencyKey,
  submittedAt: isoTime("Time of the key's first submit of the transaction, UTC."),
}).meta({ id: "SubmittedByKey", description: "A transaction that the calling API key submitted." });

/** Writes: the client prepares here, signs with its own key, and submits here. */
export const transactions = new Hono<AppEnv>()
  .post(
    "/v1/transactions/prepare",
    endpoint({
      operationId: "prepareTransaction",
      scopes: ["write"],
      summary: "Prepare a transaction for its source account to sign",
      description:
        "Two prepares of one source before a submit share a sequence number: the second submit gets txBadSeq.\n\n" +
        "With an Idempotency-Key the gateway returns the same envelope while the network may apply it, with status success once " +
        "the network has applied it. It returns a new envelope only when the network can never apply the earlier ones. So a " +
        "client can prepare, sign and submit again, and never pays twice.\n\n" +
        "A reference is the client's own name for the transaction, for example an order's number. The API key sees it in the " +
        "events of the transaction and in its webhooks, also when another key submits. Other keys do not see it, and it is not " +
        "on the chain.",
      idempotent: true,
      body: z.strictObject({
        source: accountAddress.meta({
          description: "Account that signs and pays the fee: G and 55 base32 characters, with a checksum.",
          example: EXAMPLE.owner,
        }),
        operation,
        reference: reference.optional(),
      }).meta({ id: "PrepareRequest", description: "An operation, and the account that signs it." }),
      response: preparedSchema,
      errors: ["not_found", "contract_refused", "upstream_error"],
    }, async ({ body: { reference, ...request }, key, idempotencyKey }, { transactions }, note) => {
      note({ kind: request.operation.kind, source: request.source });
      const prepared = await transactions.prepare(request, { keyId: key.id, idempotencyKey, reference });
      note({ hash: prepared.hash });
      return prepared;
    }),
  )
  .post(
    "/v1/transactions/submit",
    endpoint({
      operationId: "submitTransaction",
      scopes: ["write"],
      summary: "Submit a signed envelope, and wait until the network has applied it",
      description:
        "A repeated submit of the same envelope returns the same response. Prepare and submit of one operation share their " +
        "Idempotency-Key. With it the gateway accepts another envelope only for the same operation with the same sequence " +
        "number, or when the network can apply none of the earlier envelopes.",
      idempotent: true,
      body: z.strictObject({
        xdr: z.string(envelopeRule).min(1, envelopeRule).meta({
          description: "Signed transaction envelope, base64: the xdr of prepare, with the signature of its source.",
          example: XDR_EXAMPLE,
        }),
      }).meta({ id: "SubmitRequest", description: "A signed envelope." }),
      response: z.object({
        hash: txHash("Hash of the transaction: 64 hex digits."),
        ledger: ledgerSequence("Ledger that applied the transaction."),
      }).meta({ id: "SubmittedTransaction", description: "A transaction that the network has applied." }),
      errors: ["contract_refused", "upstream_error"],
    }, async ({ body, key, idempotencyKey, signal }, { transactions }, note) => {
      const caller = { keyId: key.id, idempotencyKey, signal: signal() };
      const confirmed = await transactions.submit(body.xdr, caller, (what) => note({ ...what }));
      note({ ledger: confirmed.ledger });
      return confirmed;
    }),
  )
  .get(
    "/v1/transactions",
    endpoint(
      {
        operationId: "listTransactions",
        scopes: ["write"],
        summary: "The transactions that the calling API key submitted, the newest first",
        description:
          "Each transaction that the gateway sent to the network for this key, once. The gateway keeps it as long as the events. " +
          "An outcome appears moments after the response of the submit.\n\n" +
          "With Accept text/csv or application/jsonl, or with format, the response is a file: all transactions of the query, or " +
          "limit of them. A file that could not be finished breaks off its connection. A key has one export at a time.",
        query: transactionsQuery,
        file: { ...TRANSACTION_FILE, pages: exportedTransactions },
        response: z.object({
          transactions: z.array(submittedTransaction).meta({ description: "The transactions of the page." }),
          cursor: nextCursor("Cursor of the next page; null on the last page.", TRANSACTION_CURSOR),
        }).meta({ id: "TransactionPage", description: "A page of submitted transactions." }),
        errors: [],
      },
      ({ key, query: { format: _, order, limit = 100, cursor, ...filter } }, { transactions }) =>
        transactions.list({ keyId: key.id, filter, order, limit, cursor }),
    ),
  )
  .get(
    "/v1/transactions/:hash",
    endpoint(
      {
        operationId: "getTransaction",
        scopes: ["read", "write"],
        summary: "The status of a transaction",
        params: z.object({ hash: transactionHash }),
        response: statusSchema,
        errors: ["not_found", "upstream_error"],
      },
      async ({ params, signal }, { transactions }) =>
        await transactions.status(params.hash, signal()) as StatusResponse,
    ),
  );

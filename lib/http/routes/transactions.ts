import { Hono } from "hono";
import { z } from "zod";
import { operation, preparedOperation } from "../../escrow/operations/operations.ts";
import { accountAddress, transactionHash, unixSeconds } from "../../escrow/values.ts";
import { endpoint } from "../endpoint.ts";
import { outcomeFields } from "../error_fields.ts";
import type { AppEnv } from "../request_context.ts";

const envelope = z.string("must be a base64 transaction envelope").min(1, "must be a base64 transaction envelope");

/** Absent where only the hash of what was applied is known. */
const ofEnvelope = "Absent only with status success, when the gateway no longer has the envelope";

const prepareAnswer = z.object({
  xdr: z.string().optional().describe(`Unsigned transaction envelope, base64. ${ofEnvelope}`),
  networkPassphrase: z.string().optional().describe(ofEnvelope),
  operation: preparedOperation.optional().describe(
    `What will be called, with what the gateway filled in. ${ofEnvelope}`,
  ),
  hash: z.string().describe("What the source account has to sign"),
  fee: z.string().optional().describe(`Most that the transaction can cost, stroops. ${ofEnvelope}`),
  validUntil: unixSeconds.optional().describe(ofEnvelope),
  status: z.literal("success").optional().describe(
    "Only with an Idempotency-Key: this very transaction was applied, there is nothing left to do",
  ),
  ledger: z.int().optional().describe("The ledger that it was applied in, with status success"),
  replaces: z.string().optional().describe(
    "Only with an Idempotency-Key: the hash of a transaction for the same, which the network has turned down and may apply " +
      "all the same; of the two it applies at most one",
  ),
  warning: z.string().optional().describe(
    "What to know before it is signed. Without an Idempotency-Key: the same operation of this source was submitted before " +
      "and nobody was told how that ended, and which transaction to ask for. Of registerDevice: with so many cards in one " +
      "wallet not every one can be revoked, or the card has an agent already. Of authorize: the merchant has so many payments since the last claim that none " +
      "can ever be claimed. Of revokeDevice: what the card's escrow holds is taken by whoever registers it next",
  ),
}).meta({ id: "PreparedTransaction" });

const statusAnswer = z.object({
  hash: z.string(),
  status: z.enum(["pending", "success", "failed", "rejected"]).describe(
    "failed: applied without success, or in no ledger before its time bound; rejected: the network turned it down",
  ),
  ledger: z.int().optional().describe("The ledger that it was applied in"),
  error: z.string().optional().describe("Why it failed or was rejected, for people; a program goes by what follows"),
  ...outcomeFields,
}).meta({ id: "TransactionStatus" });
type StatusAnswer = z.infer<typeof statusAnswer>;

/** Writes: prepare here, sign outside, submit here. */
export const transactions = new Hono<AppEnv>()
  .post(
    "/v1/transactions/prepare",
    endpoint({
      operationId: "prepareTransaction",
      scopes: ["write"],
      summary: "Prepare a transaction for its source account to sign",
      description:
        "Two prepares of one source before a submit share a sequence number: the second submit gets txBadSeq. With an " +
        "Idempotency-Key the same envelope is answered for as long as it may be applied, with status success once it was, " +
        "and a fresh one only when it never will be: whoever prepares, signs and submits again never pays twice.",
      idempotent: true,
      body: z.strictObject({ source: accountAddress, operation }).meta({ id: "PrepareRequest" }),
      answer: prepareAnswer,
      errors: ["not_found", "contract_refused", "upstream_error"],
    }, async ({ body, key, idempotencyKey }, { transactions }, note) => {
      note({ kind: body.operation.kind, source: body.source });
      const prepared = await transactions.prepare(body, { keyId: key.id, idempotencyKey });
      note({ hash: prepared.hash });
      return prepared;
    }),
  )
  .post(
    "/v1/transactions/submit",
    endpoint({
      operationId: "submitTransaction",
      scopes: ["write"],
      summary: "Submit a signed envelope and wait for its confirmation",
      description:
        "The same envelope again is answered as the first time. With an Idempotency-Key, which it shares with prepare, another " +
        "envelope is taken only for the same operation with the same sequence number, or when none before may be applied.",
      idempotent: true,
      body: z.strictObject({ xdr: envelope }).meta({ id: "SubmitRequest" }),
      answer: z.object({ hash: z.string(), ledger: z.int() }).meta({ id: "SubmittedTransaction" }),
      errors: ["contract_refused", "upstream_error"],
    }, async ({ body, key, idempotencyKey, signal }, { transactions }, note) => {
      const caller = { keyId: key.id, idempotencyKey, signal: signal() };
      const confirmed = await transactions.submit(body.xdr, caller, (what) => note({ ...what }));
      note({ ledger: confirmed.ledger });
      return confirmed;
    }),
  )
  .get(
    "/v1/transactions/:hash",
    endpoint(
      {
        operationId: "getTransaction",
        scopes: ["read", "write"],
        summary: "What became of a transaction",
        params: z.object({ hash: transactionHash }),
        answer: statusAnswer,
        errors: ["not_found", "upstream_error"],
      },
      async ({ params, signal }, { transactions }) => await transactions.status(params.hash, signal()) as StatusAnswer,
    ),
  );

import { Hono } from "hono";
import { z } from "zod";
import type { SubmittedOperation } from "../../escrow/escrow.ts";
import { operation, preparedOperation } from "../../escrow/operations/operations.ts";
import { accountAddress, unixSeconds } from "../../escrow/values.ts";
import { endpoint } from "../endpoint.ts";
import type { AppEnv } from "../exchange.ts";

const envelope = z.string("must be a base64 transaction envelope").min(1, "must be a base64 transaction envelope");
const transactionHash = z.string().regex(/^[0-9a-fA-F]{64}$/, "must be 64 hex digits").transform((hash) =>
  hash.toLowerCase()
);

/** The three steps of a write, of which the second (signing) happens elsewhere. */
export interface TransactionParts {
  prepare(request: { source: string; operation: z.output<typeof operation> }): Promise<z.infer<typeof prepareAnswer>>;
  submit(xdr: string, note?: (what: SubmittedOperation) => void): Promise<{ hash: string; ledger: number }>;
  status(hash: string): Promise<z.infer<typeof statusAnswer>>;
}

const prepareAnswer = z.object({
  xdr: z.string().describe("Unsigned transaction envelope, base64"),
  networkPassphrase: z.string(),
  operation: preparedOperation.describe("What will be called, with what the gateway filled in"),
  hash: z.string().describe("What the source account has to sign"),
  fee: z.string().describe("Most that the transaction can cost, stroops"),
  validUntil: unixSeconds,
});

const statusAnswer = z.object({
  hash: z.string(),
  status: z.enum(["pending", "success", "failed"]),
  ledger: z.int().optional(),
  error: z.string().optional(),
});

/** Writes: prepare here, sign outside, submit here. */
export const transactions = new Hono<AppEnv>()
  .post(
    "/v1/transactions/prepare",
    endpoint({
      scopes: ["write"],
      summary: "Prepare a transaction for its source account to sign",
      description:
        "Two prepares of one source before a submit share a sequence number: the second submit gets txBadSeq.",
      body: z.strictObject({ source: accountAddress, operation }),
      answer: prepareAnswer,
      errors: ["not_found", "contract_refused", "upstream_error"],
    }, async ({ body }, { transactions }, note) => {
      note({ kind: body.operation.kind, source: body.source });
      const prepared = await transactions.prepare(body);
      note({ hash: prepared.hash });
      return prepared;
    }),
  )
  .post(
    "/v1/transactions/submit",
    endpoint({
      scopes: ["write"],
      summary: "Submit a signed envelope and wait for its confirmation",
      body: z.strictObject({ xdr: envelope }),
      answer: z.object({ hash: z.string(), ledger: z.int() }),
      errors: ["contract_refused", "upstream_error"],
    }, async ({ body }, { transactions }, note) => {
      const confirmed = await transactions.submit(body.xdr, (what) => note({ ...what }));
      note({ ledger: confirmed.ledger });
      return confirmed;
    }),
  )
  .get(
    "/v1/transactions/:hash",
    endpoint({
      scopes: ["read", "write"],
      summary: "What became of a transaction",
      params: z.object({ hash: transactionHash }),
      answer: statusAnswer,
      errors: ["not_found", "upstream_error"],
    }, ({ params }, { transactions }) => transactions.status(params.hash)),
  );

import { z } from "zod";
import { NAMED_CONTRACT_ERRORS } from "../escrow/contracts/errors.ts";
import { REFUSAL_REASONS } from "../escrow/reads/payment_check.ts";
import { type ErrorCode, ERRORS, RETRIES } from "../errors.ts";
import { text } from "./response_fields.ts";

const contractErrorName = z.enum(NAMED_CONTRACT_ERRORS).meta({
  id: "ContractErrorName",
  description: "Name of an error of the three contracts or of the asset contract.",
  example: "AmountExceedsLimit",
});

const retry = z.enum(RETRIES).meta({
  description:
    "`same`: send the same request again after a pause. `prepare_again`: prepare, sign and submit a new envelope. " +
    "`never`: the gateway refuses the same request until something else changes.",
  example: "never",
});

/** Why a transaction failed, for programs: in an error, and in the status of a transaction. */
const failureFields = {
  contractError: z.union([contractErrorName, z.string()]).optional().meta({
    description:
      "Name of the contract's error, when a contract refused. An unknown error, or an error of another contract, " +
      "has its number (#10) or the host's text instead.",
    example: "AmountExceedsLimit",
  }),
  transactionError: z.string().optional().meta({
    description:
      "The network's name for the reason why it did not apply the transaction: txBadSeq, txTooLate and others.",
    example: "txBadSeq",
  }),
  reason: z.enum(REFUSAL_REASONS).optional().meta({
    description: "The reason of /v1/payments/check, when the contract's error has several causes.",
    example: "amount_exceeds_limit",
  }),
};

/** The failure of a transaction, with the same fields as the error of its submit. */
export const outcomeFields = { ...failureFields, retry: retry.optional() };

/** The body of every error. */
export const errorSchema = z.object({
  error: z.object({
    code: z.enum(Object.keys(ERRORS) as [ErrorCode]).meta({
      id: "ErrorCode",
      description: "Code of the error, for programs.",
      example: "invalid_request",
    }),
    message: text(
      "The problem, for people; a program reads the other fields.",
      "amount must be a decimal string; got a number",
    ),
    ...failureFields,
    retry,
    param: z.string().optional().meta({
      description: "Name of the field, parameter or header that is wrong; nested fields have a path with dots.",
      example: "operation.amount",
    }),
  }).meta({ id: "ErrorDetail", description: "The problem, and whether a retry helps." }),
}).meta({ id: "Error", description: "Body of every error response." });

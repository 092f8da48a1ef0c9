import { z } from "zod";
import { NAMED_CONTRACT_ERRORS } from "../escrow/contracts/errors.ts";
import { REFUSAL_REASONS } from "../escrow/reads/payment_check.ts";
import { ERRORS, RETRIES } from "../errors.ts";

const contractErrorName = z.enum(NAMED_CONTRACT_ERRORS).meta({
  id: "ContractErrorName",
  description: "The errors of the three contracts and of the asset contract",
});

const retry = z.enum(RETRIES).describe(
  "same: send the same again after a pause. prepare_again: the envelope is spent, prepare another. " +
    "never: the same is refused again, until something else has changed",
);

/** What a program goes by that learns why a transaction came to nothing: in an error, and in what became of it. */
const failureFields = {
  contractError: z.union([contractErrorName, z.string()]).optional().describe(
    "Name of the contract's error, where a contract refused; of a contract that is none of ours, or an error that this " +
      "version does not know, its number (#10) or the host's words for it",
  ),
  transactionError: z.string().optional().describe(
    "The network's name for why it did not apply the transaction: txBadSeq, txTooLate, …",
  ),
  reason: z.enum(REFUSAL_REASONS).optional().describe(
    "That of /v1/payments/check, where the contract's name stands for several causes",
  ),
};

/** What an answer says of a transaction that failed or was rejected: as the error of its submit did. */
export const outcomeFields = { ...failureFields, retry: retry.optional() };

/** What every error looks like. */
export const errorAnswer = z.object({
  error: z.object({
    code: z.enum(Object.keys(ERRORS)).meta({ id: "ErrorCode" }),
    message: z.string().describe("For people; a program goes by the other fields"),
    ...failureFields,
    retry,
    param: z.string().optional().describe("The field or parameter at fault"),
  }).meta({ id: "ErrorDetail" }),
}).meta({ id: "Error" });

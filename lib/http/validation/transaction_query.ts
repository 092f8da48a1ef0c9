import { z } from "zod";
import { OPERATION_KINDS } from "../../escrow/contracts/interfaces.ts";
import { EXAMPLE } from "../../escrow/example_values.ts";
import { accountAddress, mustBeOneOf, reference } from "../../escrow/values.ts";
import { TRANSACTION_STATUSES } from "../../store/transaction.ts";
import { integerText, isTimeOrder, listFormat, timeOrder, timeText } from "./query.ts";

const ORDERS = ["asc", "desc"] as const;
export const TRANSACTION_CURSOR =
  "ZGVzYyAxNzkzNDkxMjA1MDAwIDNiN2UyYzkxMDRkZGFlNWE2YjFmMGM4ZDdlNmY1YTRiM2MyZDFlMGY5ZThkN2M2YjVhNGYzZTJkMWMwYjlhOGY";

/** Query of the list of submitted transactions. */
export const transactionsQuery = z.strictObject({
  source: accountAddress.optional().meta({
    description: "Only transactions of this account (G…).",
    example: EXAMPLE.agent,
  }),
  kind: z.enum(OPERATION_KINDS, mustBeOneOf(OPERATION_KINDS)).optional().meta({
    description: "Only transactions with an operation of this kind.",
    example: "authorize",
  }),
  status: z.enum(TRANSACTION_STATUSES, mustBeOneOf(TRANSACTION_STATUSES)).optional().meta({
    description: "Only transactions with this status.",
    example: "success",
  }),
  reference: reference.optional().meta({
    description: "Only transactions that this API key prepared with this reference.",
  }),
  from: timeText.optional().meta({
    description: "Only transactions submitted at this time or later: ISO 8601 with a zone, or Unix seconds.",
    example: "2026-01-01T00:00:00Z",
  }),
  to: timeText.optional().meta({
    description: "Only transactions submitted before this time: ISO 8601 with a zone, or Unix seconds.",
    example: "2036-01-01T00:00:00Z",
  }),
  order: z.enum(ORDERS, mustBeOneOf(ORDERS)).optional().meta({
    description: "`desc`: the newest transaction first. `asc`: the oldest first. `desc` when absent.",
    example: "desc",
  }),
  limit: integerText(1, 1000).optional().meta({
    description: "Most transactions in the page: 1 to 1000, 100 when absent.",
    example: 100,
  }),
  cursor: z.string().max(200, "must be a cursor from an earlier response").optional().meta({
    description: "Cursor of an earlier page with the same filters.",
    example: TRANSACTION_CURSOR,
  }),
  format: listFormat("transactions"),
}).refine(isTimeOrder, timeOrder);

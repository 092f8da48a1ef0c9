import { z } from "zod";
import { EXAMPLE } from "../../escrow/example_values.ts";
import { address, deviceHash, mustBeOneOf, reference } from "../../escrow/values.ts";
import { PAYMENT_STATES } from "../../store/payment.ts";
import { integerText, isTimeOrder, listFormat, timeOrder, timeText } from "./query.ts";

const ORDERS = ["asc", "desc"] as const;

/** Query of a list of payments. */
export const paymentsQuery = z.strictObject({
  state: z.enum(PAYMENT_STATES, mustBeOneOf(PAYMENT_STATES)).optional().meta({
    description: "Only payments in this state.",
    example: "claimed",
  }),
  merchant: address.optional().meta({
    description: "Only payments to this merchant: an account (G…) or a contract (C…).",
    example: EXAMPLE.merchant,
  }),
  deviceHash: deviceHash.optional().meta({ description: "Only payments of this card: 64 hex digits." }),
  agent: address.optional().meta({
    description: "Only payments of this agent: an account (G…) or a contract (C…).",
    example: EXAMPLE.agent,
  }),
  reference: reference.optional().meta({
    description: "Only payments whose transaction the calling API key prepared with this reference.",
  }),
  from: timeText.optional().meta({
    description: "Only payments authorised at this time or later: ISO 8601 with a zone, or Unix seconds.",
    example: "2026-01-01T00:00:00Z",
  }),
  to: timeText.optional().meta({
    description: "Only payments authorised before this time: ISO 8601 with a zone, or Unix seconds.",
    example: "2036-01-01T00:00:00Z",
  }),
  order: z.enum(ORDERS, mustBeOneOf(ORDERS)).optional().meta({
    description: "`desc`: the newest payment first. `asc`: the oldest first. `desc` when absent.",
    example: "desc",
  }),
  limit: integerText(1, 1000).optional().meta({
    description: "Most payments in the page: 1 to 1000, 100 when absent.",
    example: 100,
  }),
  cursor: z.string().max(200, "must be a cursor from an earlier response").optional().meta({
    description: "Cursor of an earlier page with the same filters.",
    example: "ZGVzYyAxNzkzNDkxMjA1IDAwMDAwMDUxNTM5NjA3NTUyLTAwMDAwMDAwMDA",
  }),
  format: listFormat("payments"),
}).refine(isTimeOrder, timeOrder);

import { z } from "zod";
import { EVENT_TYPES } from "../../escrow/events.ts";
import { EXAMPLE } from "../../escrow/example_values.ts";
import { address, deviceHash, gotOf, mustBeOneOf, transactionHash } from "../../escrow/values.ts";
import { MAX_UINT32 } from "../../ledger_numbers.ts";
import { AS } from "../openapi_schemas.ts";
import { integerText, isTimeOrder, listFormat, timeOrder, timeText } from "./query.ts";

const isType = (text: string) => (EVENT_TYPES as readonly string[]).includes(text);
const typeList = z.string().transform((text) => text.split(","))
  .refine((types) => types.every(isType), {
    error: ({ input }) =>
      `must be a comma-separated list of ${EVENT_TYPES.join(", ")}` +
      gotOf((input as string[]).find((type) => !isType(type)), EVENT_TYPES),
  }).meta({ [AS]: { type: "array", items: { type: "string", enum: EVENT_TYPES } } });

const ledgerText = integerText(1, MAX_UINT32);

/** Start and filters of an event query: the same for pages and streams. */
const startAndSubjects = {
  fromLedger: ledgerText.optional().meta({
    description: `Only events from this ledger on: 1 to ${MAX_UINT32}. It excludes cursor.`,
    example: 1,
  }),
  cursor: z.string().max(200, "is not a cursor of this gateway").optional().meta({
    description: "Cursor of an earlier response, at most 200 characters. It excludes fromLedger.",
    example: "AgBpeExER0E2aFhjUDYAAAAAAAkAAAAAAAHS73kX",
  }),
  types: typeList.optional().meta({
    description:
      "Only events of these types, comma-separated; all but payment.expiring and payment.expired when absent.",
    example: ["payment.authorized", "payment.claimed"],
  }),
  deviceHash: deviceHash.optional().meta({ description: "Only events of this card: 64 hex digits." }),
  merchant: address.optional().meta({
    description: "Only events of this merchant: an account (G…) or a contract (C…).",
    example: EXAMPLE.merchant,
  }),
  agent: address.optional().meta({
    description: "Only events of this agent: an account (G…) or a contract (C…).",
    example: EXAMPLE.agent,
  }),
  txHash: transactionHash.optional().meta({ description: "Only events of this transaction: 64 hex digits." }),
};

const isOneStart = ({ fromLedger, cursor }: { fromLedger?: number; cursor?: string }) =>
  fromLedger === undefined || cursor === undefined;
const twoStarts = { path: ["fromLedger"], message: "and cursor exclude each other: send one of them" };

/** Query of the stream. */
export const streamQuery = z.strictObject(startAndSubjects).refine(isOneStart, twoStarts);

const ORDERS = ["asc", "desc"] as const;

/** Query of a page. */
export const eventsQuery = z.strictObject({
  ...startAndSubjects,
  toLedger: ledgerText.optional().meta({
    description:
      `Only events up to this ledger, inclusive: 1 to ${MAX_UINT32}. The page's cursor continues with the same limit.`,
    example: 1200,
  }),
  from: timeText.optional().meta({
    description: "Only events of ledgers that closed at this time or later: ISO 8601 with a zone, or Unix seconds.",
    example: "2026-01-01T00:00:00Z",
  }),
  to: timeText.optional().meta({
    description: "Only events of ledgers that closed before this time: ISO 8601 with a zone, or Unix seconds.",
    example: "2100-01-01T00:00:00Z",
  }),
  order: z.enum(ORDERS, mustBeOneOf(ORDERS)).optional().meta({
    description: "`asc`: the order of the log. `desc`: the newest entry of the log first. `asc` when absent.",
    example: "asc",
  }),
  limit: integerText(1, 1000).optional().meta({
    description: "Most events in the page: 1 to 1000, 100 when absent.",
    example: 100,
  }),
  format: listFormat("events"),
}).refine(isOneStart, twoStarts).refine(isTimeOrder, timeOrder);

import { z } from "zod";
import { EVENT_TYPES } from "../../escrow/events.ts";
import { address, deviceHash, gotOf, mustBeOneOf, transactionHash } from "../../escrow/values.ts";
import { MAX_UINT32 } from "../../ledger_numbers.ts";
import { AS } from "../openapi_schemas.ts";
import { integerText } from "./query.ts";

const isType = (text: string) => (EVENT_TYPES as readonly string[]).includes(text);
const typeList = z.string().transform((text) => text.split(","))
  .refine((types) => types.every(isType), {
    error: ({ input }) =>
      `must be a comma-separated list of ${EVENT_TYPES.join(", ")}` +
      gotOf((input as string[]).find((type) => !isType(type)), EVENT_TYPES),
  }).meta({ [AS]: { type: "array", items: { type: "string", enum: EVENT_TYPES } } });

const ledgerText = integerText(1, MAX_UINT32);

/** Where a reader begins, and what it wants to hear of: the same for pages and streams. */
const startAndSubjects = {
  fromLedger: ledgerText.optional().describe("Only events from this ledger on; not together with cursor"),
  cursor: z.string().max(200, "is not a cursor of this gateway").optional().describe("From an earlier answer"),
  types: typeList.optional().describe("Only these event types, comma-separated"),
  deviceHash: deviceHash.optional(),
  merchant: address.optional(),
  agent: address.optional(),
  txHash: transactionHash.optional().describe("Only the events of this transaction"),
};

const isOneStart = ({ fromLedger, cursor }: { fromLedger?: number; cursor?: string }) =>
  fromLedger === undefined || cursor === undefined;
const twoStarts = { path: ["fromLedger"], message: "and cursor exclude each other: send one of them" };

/** Of the stream. */
export const streamQuery = z.strictObject(startAndSubjects).refine(isOneStart, twoStarts);

const ORDERS = ["asc", "desc"] as const;

/** Of a page. */
export const eventsQuery = z.strictObject({
  ...startAndSubjects,
  toLedger: ledgerText.optional().describe(
    "Only events up to this ledger, inclusive; a cursor that was made with it goes on with it",
  ),
  order: z.enum(ORDERS, mustBeOneOf(ORDERS)).optional()
    .describe("asc, or desc: the last one that became known first; asc when absent"),
  limit: integerText(1, 1000).optional().describe("1 to 1000, 100 when absent"),
}).refine(isOneStart, twoStarts);

import { Hono } from "hono";
import { z } from "zod";
import { EVENT_TYPES } from "../../escrow/events.ts";
import { address, contractId, deviceHash } from "../../escrow/values.ts";
import { endpoint } from "../endpoint.ts";
import type { AppEnv } from "../exchange.ts";

const integerText = (min: number, max: number, noun: string) =>
  z.string().regex(/^[1-9]\d{0,9}$/, `must be ${noun}`).transform(Number)
    .refine((n) => n >= min && n <= max, `must be ${noun}`);

const typeList = z.string().transform((text) => text.split(","))
  .refine(
    (types) => types.every((type) => (EVENT_TYPES as readonly string[]).includes(type)),
    `must be a comma-separated list of ${EVENT_TYPES.join(", ")}`,
  );

const eventsQuery = z.strictObject({
  fromLedger: integerText(1, 4_294_967_295, "an integer from 1 to 4294967295").optional()
    .describe("First ledger of the page; not together with cursor"),
  cursor: z.string().max(200, "is not a cursor of this gateway").optional().describe("From an earlier answer"),
  limit: integerText(1, 1000, "an integer from 1 to 1000").optional().describe("1 to 1000, 100 when absent"),
  types: typeList.optional().describe("Only these event types, comma-separated"),
  deviceHash: deviceHash.optional(),
  merchant: address.optional(),
}).refine(({ fromLedger, cursor }) => fromLedger === undefined || cursor === undefined, {
  path: ["fromLedger"],
  message: "and cursor exclude each other: send one of them",
});

export const eventAnswer = z.object({
  id: z.string().describe("Unique: deduplicate on it"),
  type: z.enum(EVENT_TYPES),
  contractId,
  ledger: z.int(),
  ledgerClosedAt: z.iso.datetime(),
  txHash: z.string(),
  deviceHash: deviceHash.optional(),
  agent: address.optional(),
  merchant: address.optional(),
  amount: z.string().optional().describe("Decimal string"),
});

/** The event history, pulled. */
export const events = new Hono<AppEnv>()
  .get(
    "/v1/events",
    endpoint({
      scopes: ["read"],
      summary: "The event history, oldest first",
      description:
        "A page shorter than limit has reached the tip of what is held; its cursor stays good for asking again.",
      query: eventsQuery,
      answer: z.object({
        events: z.array(eventAnswer),
        cursor: z.string().describe("Where the next page starts; always there"),
        latestLedger: z.int(),
        oldestLedger: z.int().nullable()
          .describe("The first ledger whose events are all held: what was asked for from before it is missing"),
      }),
      errors: [],
    }, ({ query }, { history }) => history.page({ ...query, limit: query.limit ?? 100 })),
  );

import { Hono } from "hono";
import { z } from "zod";
import type { EventType } from "../../escrow/events.ts";
import { address, contractId, deviceHash } from "../../escrow/values.ts";
import { subjectsOf } from "../../events/log_reader.ts";
import { endpoint } from "../endpoint.ts";
import type { AppEnv } from "../request_context.ts";
import { eventsQuery, streamQuery } from "../validation/event_query.ts";
import { eventStreamEndpoint } from "./event_stream.ts";

export const eventId = z.string().regex(/^([1-9]\d{0,3}-)?\d{19}-\d{10}$/, "must be the id of an event");

const common = {
  id: z.string().describe("Unique: deduplicate on it"),
  contractId: contractId.describe("The contract that said it"),
  ledger: z.int(),
  ledgerClosedAt: z.iso.datetime(),
  txHash: z.string().describe("64 hex digits"),
};

/** Of a movement: what moved. */
const movement = {
  amount: z.string().describe("Decimal string of the asset's smallest unit"),
  asset: contractId.nullable().describe("null: not known. It was read before this was kept, or could not be learnt"),
};

/** One type of event, with the fields that it has. */
function eventOf<T extends EventType, S extends z.ZodRawShape>(type: T, id: string, description: string, fields: S) {
  return z.object({ ...common, type: z.literal(type), ...fields }).meta({ id, description });
}

const agentFields = { deviceHash, agent: address };

/** An event as it is answered and delivered; `type` says which fields it has. */
export const eventAnswer = z.discriminatedUnion("type", [
  eventOf(
    "device.registered",
    "DeviceRegistered",
    "A card has an owner, and an agent that looks after it",
    agentFields,
  ),
  eventOf("device.revoked", "DeviceRevoked", "The owner has given a card up", { deviceHash }),
  eventOf("agent.registered", "AgentRegistered", "An agent may pay with a card, within a policy", {
    ...agentFields,
    asset: contractId.nullable().optional().describe("The policy's; null: not known"),
  }),
  eventOf("agent.revoked", "AgentRevoked", "No agent may pay with a card any more", { deviceHash }),
  eventOf("escrow.funded", "EscrowFunded", "The owner has put money into a card's escrow", { deviceHash, ...movement }),
  eventOf("escrow.defunded", "EscrowDefunded", "The owner has taken money back", { deviceHash, ...movement }),
  eventOf("escrow.swept", "EscrowSwept", "What was left in a card's escrow went back to its owner", {
    deviceHash,
    ...movement,
  }),
  eventOf("payment.authorized", "PaymentAuthorized", "An agent has paid a merchant, who can claim it now", {
    deviceHash,
    merchant: address,
    ...movement,
  }),
  eventOf("payment.claimed", "PaymentClaimed", "A merchant has collected all that was pending", {
    merchant: address,
    ...movement,
  }),
]).meta({ id: "Event" });
type EventAnswer = z.infer<typeof eventAnswer>;

/** The event history, pulled. */
export const events = new Hono<AppEnv>()
  .get(
    "/v1/events",
    endpoint({
      operationId: "listEvents",
      scopes: ["read"],
      summary: "The event history, in the order in which events became known",
      description:
        "That is the order of the ledgers but for what became known late: it simply comes next, so whoever reads on by " +
        "cursor sees every event exactly once. A page shorter than limit has reached the tip of what is held; its cursor " +
        "stays good for asking again.",
      query: eventsQuery,
      answer: z.object({
        events: z.array(eventAnswer),
        cursor: z.string().describe("Where the next page starts; always there"),
        latestLedger: z.int(),
        oldestLedger: z.int().nullable()
          .describe("The first ledger whose events are all held: what was asked for from before it is missing"),
      }).meta({ id: "EventPage" }),
      errors: [],
    }, async ({ query }, { history }) => {
      const { fromLedger, toLedger, cursor, order, limit = 100, ...filter } = query;
      const range = { fromLedger, toLedger, cursor, order, limit };
      const { events, ...page } = await history.page({ ...range, filter: subjectsOf(filter) });
      return { events: events as EventAnswer[], ...page };
    }),
  )
  .get(
    "/v1/events/stream",
    eventStreamEndpoint({
      operationId: "streamEvents",
      scopes: ["read"],
      summary: "The event history and what comes after it, as server-sent events",
      description:
        "Each event comes as a frame without a name: data is the event, id the cursor that a page or another stream goes " +
        "on from right after it. Named frames: caught_up (all that is held has been sent; { latestLedger }), ledger (the " +
        "same every few seconds), gap (events may be missing; { reason: not_held, oldestLedger } or { reason: not_read, " +
        "epoch, fromLedger, toLedger, contractIds, detectedAt }), revoked (the key no longer stands; { reason }, and the " +
        "stream ends). Last-Event-ID beats the query. A reader that reads nothing for half a minute is ended; a key has " +
        "at most 20 streams.",
      query: streamQuery,
      mediaType: "text/event-stream",
      answer: eventAnswer,
      errors: [],
    }),
  )
  .get(
    "/v1/events/:id",
    endpoint({
      operationId: "getEvent",
      scopes: ["read"],
      summary: "One event",
      params: z.object({ id: eventId }),
      answer: eventAnswer,
      errors: ["not_found"],
    }, async ({ params }, { history }) => await history.event(params.id) as EventAnswer),
  );

import { Hono } from "hono";
import { z } from "zod";
import type { EVENT_TYPES } from "../../escrow/events.ts";
import { EXAMPLE } from "../../escrow/example_values.ts";
import { address, contractId, deviceHash, reference } from "../../escrow/values.ts";
import { subjectsOf } from "../../events/log_reader.ts";
import { endpoint } from "../endpoint.ts";
import type { AppEnv } from "../request_context.ts";
import { anyEventId, isoTime, ledgerSequence, text } from "../response_fields.ts";
import { eventsQuery, streamQuery } from "../validation/event_query.ts";
import { EVENT_FILE, exportedEvents } from "./event_export.ts";
import { eventStreamEndpoint } from "./event_stream.ts";

export const eventId = z.string().regex(/^([1-9]\d{0,3}-)?\d{19}-\d{10}$/, "must be the id of an event").meta({
  description:
    "Id of the event: 19 and 10 digits with a hyphen, after a network reset with the epoch and a hyphen in front.",
  example: EXAMPLE.eventId,
});

const common = {
  id: anyEventId("Unique id of the event, by which receivers deduplicate."),
  contractId: contractId.meta({
    description: "Contract id (C…) of the contract that emitted the event.",
    example: EXAMPLE.paymentEscrow,
  }),
  ledger: ledgerSequence("Ledger of the event."),
  ledgerClosedAt: isoTime("Close time of the ledger, UTC."),
  txHash: text("Hash of the transaction: 64 hex digits.", EXAMPLE.txHash),
  reference: reference.optional().meta({
    description: "Reference of the transaction. Only for the API key that gave it with prepare, absent for other keys.",
  }),
};

const agent = address.meta({
  description: "Agent of the card: an account (G…) or a contract (C…).",
  example: EXAMPLE.agent,
});
const merchant = address.meta({
  description: "Merchant of the payment: an account (G…) or a contract (C…).",
  example: EXAMPLE.merchant,
});

/** Of an event that moves money. */
const movement = {
  amount: text("Amount in the asset's smallest unit: a decimal string from 0 to 2^127 − 1.", "40000000"),
  asset: contractId.nullable().meta({
    description: "Contract id (C…) of the asset; null when the gateway could not read it.",
  }),
};

/** Of an event of the gateway's own: the payment. Its `txHash` is that of the authorisation. */
const payment = {
  paymentId: anyEventId("Id of the payment: that of its `payment.authorized` event."),
  deviceHash,
  agent: agent.optional(),
  merchant,
};

/** One type of event, with its fields. */
function eventOf<T extends typeof EVENT_TYPES[number], S extends z.ZodRawShape>(
  type: T,
  id: string,
  description: string,
  fields: S,
) {
  const typeField = z.literal(type).meta({ description: "Type of the event." });
  return z.object({ ...common, type: typeField, ...fields }).meta({ id, description });
}

/** An event in responses and deliveries; `type` selects its fields. */
export const eventSchema = z.discriminatedUnion("type", [
  eventOf("device.registered", "DeviceRegistered", "An owner registered a card, with an agent.", { deviceHash, agent }),
  eventOf("device.revoked", "DeviceRevoked", "The owner gave a card up.", { deviceHash }),
  eventOf("agent.registered", "AgentRegistered", "An agent may pay with a card, within a policy.", {
    deviceHash,
    agent,
    asset: contractId.nullable().optional().meta({
      description: "Contract id (C…) of the policy's asset; null when the gateway could not read it.",
    }),
  }),
  eventOf("agent.revoked", "AgentRevoked", "No agent may pay with a card any more.", { deviceHash }),
  eventOf("escrow.funded", "EscrowFunded", "The owner paid into a card's escrow.", { deviceHash, ...movement }),
  eventOf("escrow.defunded", "EscrowDefunded", "The owner took money back from a card's escrow.", {
    deviceHash,
    ...movement,
  }),
  eventOf("escrow.swept", "EscrowSwept", "The rest of a card's escrow went back to its owner.", {
    deviceHash,
    ...movement,
  }),
  eventOf("payment.authorized", "PaymentAuthorized", "An agent paid a merchant, who can claim the payment now.", {
    deviceHash,
    merchant,
    ...movement,
  }),
  eventOf("payment.claimed", "PaymentClaimed", "A merchant collected all its pending payments.", {
    merchant,
    ...movement,
  }),
  eventOf(
    "payment.expiring",
    "PaymentExpiring",
    "Three quarters of a payment's life are over, and its merchant has not claimed it.",
    {
      ...payment,
      ...movement,
    },
  ),
  eventOf("payment.expired", "PaymentExpired", "A payment ended unclaimed: the merchant cannot collect it any more.", {
    ...payment,
    ...movement,
  }),
]).meta({ id: "Event", description: "An event of the contracts, or of the gateway's own; type selects its fields." });
type EventResponse = z.infer<typeof eventSchema>;

/** The event history, for clients that pull. */
export const events = new Hono<AppEnv>()
  .get(
    "/v1/events",
    endpoint({
      operationId: "listEvents",
      scopes: ["read"],
      summary: "The event history, in the order of the log",
      description:
        "The log has the order of the ledgers, except for events that the gateway found late: these come at the end. A client " +
        "that follows the cursor gets every event exactly once. A page shorter than limit has reached the end of the log. " +
        "Its cursor stays valid for the next poll.\n\n" +
        "With Accept text/csv or application/jsonl, or with format, the response is a file: all events of the query, or limit " +
        "of them. Its rows also have amountUnits, the amount in units of the asset, empty or null for an unknown asset. " +
        "A file that could not be finished breaks off its connection. A key has one export at a time.",
      query: eventsQuery,
      file: { ...EVENT_FILE, pages: exportedEvents },
      response: z.object({
        events: z.array(eventSchema).meta({ description: "The events of the page." }),
        cursor: text("Cursor of the next page, present on every page.", "AgBpeExER0E2aFhjUDYAAAAAAAkAAAAAAAHS73kX"),
        latestLedger: ledgerSequence("Sequence of the latest ledger that the gateway knows.", 1200),
        oldestLedger: ledgerSequence(
          "First ledger from which the gateway stores all events: older events are missing. Null while unknown.",
          1,
        ).nullable(),
      }).meta({ id: "EventPage", description: "A page of the event history." }),
      errors: [],
    }, async ({ key, query }, { history }) => {
      const { format: _, fromLedger, toLedger, from, to, cursor, order, limit = 100, ...filter } = query;
      const range = { fromLedger, toLedger, times: { from, to }, cursor, order, limit };
      const { events, ...page } = await history.page({ ...range, filter: subjectsOf(filter), keyId: key.id });
      return { events: events as EventResponse[], ...page };
    }),
  )
  .get(
    "/v1/events/stream",
    eventStreamEndpoint({
      operationId: "streamEvents",
      scopes: ["read"],
      summary: "The event history and all later events, as server-sent events",
      description:
        "Each event is a frame without a name: data is the event, and id is its cursor. A page or another stream continues " +
        "right after this cursor.\n\n" +
        "Named frames:\n\n" +
        "- caught_up { latestLedger }: the stream has sent the whole log.\n" +
        "- ledger { latestLedger }: the same again, every few seconds.\n" +
        "- gap { reason, … }: events may be missing. The reason is not_held (with oldestLedger) or not_read (with epoch, " +
        "fromLedger, toLedger, contractIds and detectedAt).\n" +
        "- revoked { reason }: the key is no longer valid, and the stream ends.\n\n" +
        "The header Last-Event-ID takes precedence over the query. The gateway ends a stream that the client does not read for " +
        "half a minute. A key has at most 20 streams.",
      query: streamQuery,
      mediaType: "text/event-stream",
      response: eventSchema,
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
      response: eventSchema,
      errors: ["not_found"],
    }, async ({ key, params }, { history }) => await history.event(params.id, key.id) as EventResponse),
  );

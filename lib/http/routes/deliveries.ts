import { Hono } from "hono";
import { z } from "zod";
import { EVENT_TYPES } from "../../escrow/events.ts";
import { EXAMPLE } from "../../escrow/example_values.ts";
import { mustBeOneOf } from "../../escrow/values.ts";
import { FAILED_STATES } from "../../webhooks/failed_deliveries.ts";
import { publicAttempt, publicFailedDelivery } from "../../webhooks/public_webhook.ts";
import { endpoint } from "../endpoint.ts";
import type { AppEnv } from "../request_context.ts";
import { AS } from "../openapi_schemas.ts";
import { anyEventId, count, flag, isoTime, ledgerSequence, nextCursor, text } from "../response_fields.ts";
import { integerText } from "../validation/query.ts";

export const WEBHOOK_EXAMPLE = "wh_qhm4MArw4uzzJbyAEo0RI2";

export const webhookId = z.object({
  id: z.string().regex(/^wh_[0-9A-Za-z]{1,40}$/, "must be the id of a webhook (wh_…)").meta({
    description: "Id of the webhook: wh_ and 1 to 40 letters or digits.",
    example: WEBHOOK_EXAMPLE,
  }),
});

export const attempt = z.object({
  id: text("Id of the attempt: a decimal string.", "3"),
  eventId: anyEventId("Id of the event; a test event's begins with test-."),
  eventType: text("Type of the event, webhook.test for a test event.", "payment.authorized"),
  deliveryId: z.string().nullable().meta({
    description:
      "Id of the delivery: the event's id, in a replay followed by a colon and the replay's id. Null for a test event.",
    example: EXAMPLE.eventId,
  }),
  attempt: count(
    "Number of the attempt in its delivery, from 1; 0 for an attempt that only checked whether a failing endpoint is back.",
    1,
  ),
  at: isoTime("Start of the attempt, UTC."),
  durationMs: z.number().meta({ description: "Duration of the attempt in milliseconds.", example: 23 }),
  outcome: z.enum(["delivered", "retry", "rejected", "dead"]).meta({
    description:
      "`rejected`: the receiver's response ended the retries. `dead`: the gateway stopped retrying. The gateway stores " +
      "both, and can replay them.",
    example: "delivered",
  }),
  statusCode: z.int().nullable().meta({
    description: "HTTP status of the receiver's response; null without a response.",
    example: 200,
  }),
  error: z.string().nullable().meta({
    description: "Why the attempt failed, for people; null after a success.",
    example: null,
  }),
  responseBody: z.string().nullable().meta({
    description: "Beginning of the response's body; null when the gateway stored none.",
    example: "thanks",
  }),
  nextAttemptAt: isoTime("Time of the next attempt, UTC; null when there is no retry.").nullable(),
}).meta({ id: "Attempt", description: "One attempt to deliver an event to a webhook." });

const attemptPage = z.object({
  deliveries: z.array(attempt).meta({ description: "The attempts, newest first." }),
  cursor: nextCursor("Cursor of the next page, with older attempts; null on the last page.", "1"),
}).meta({ id: "AttemptPage", description: "Attempts to deliver to a webhook." });

const failedDelivery = z.object({
  eventId: anyEventId("Id of the event, for a replay."),
  eventType: z.enum(EVENT_TYPES).meta({ description: "Type of the event.", example: "payment.claimed" }),
  ledger: ledgerSequence("Ledger of the event."),
  state: z.enum(FAILED_STATES).meta({
    description:
      "`rejected`: the receiver's response ended the retries. `dead`: the gateway stopped retrying. `retrying`: a retry follows.",
    example: "rejected",
  }),
  failedAt: isoTime("Time of the first failure, or of the end without an attempt, UTC."),
  attempts: count("Attempts so far. 0 means that the event became too old while the endpoint was failing.", 1),
  nextAttemptAt: isoTime("Time of the next attempt, UTC; null unless the state is retrying.").nullable(),
  lastAttempt: attempt.nullable().meta({
    description: "The last attempt; null when there was none, or when the gateway no longer stores it.",
  }),
}).meta({ id: "FailedDelivery", description: "A delivery that failed, and that the gateway stores for a replay." });

const failedDeliveryPage = z.object({
  deliveries: z.array(failedDelivery).meta({ description: "The failed deliveries in the requested state." }),
  cursor: nextCursor("Cursor of the next page; null on the last page.", "rejected.4"),
}).meta({ id: "FailedDeliveryPage", description: "Failed deliveries of a webhook." });

const cursorRule = "must be a cursor from an earlier response";
/** State in a cursor of failed deliveries; a cursor of attempts is a number alone. */
const stateOf = (cursor: string) => cursor.includes(".") ? cursor.split(".")[0] : undefined;

const deliveriesQuery = z.strictObject({
  state: z.enum(FAILED_STATES, mustBeOneOf(FAILED_STATES)).optional().meta({
    description: "Return the failed deliveries in this state instead of the attempts.",
    example: "rejected",
  }),
  limit: integerText(1, 200).optional().meta({
    description: "Most entries in the page: 1 to 200, 50 when absent.",
    example: 50,
    [AS]: { type: "integer", minimum: 1, maximum: 200, default: 50 },
  }),
  cursor: z.string().regex(/^((rejected|dead|retrying)\.)?[1-9]\d{0,14}$/, cursorRule).optional().meta({
    description: "Cursor of an earlier page with the same state.",
    example: "3",
  }),
}).refine(({ state, cursor }) => cursor === undefined || stateOf(cursor) === state, {
  path: ["cursor"],
  message: `${cursorRule} with the same state`,
});

/** The deliveries to a webhook of the calling key. */
export const deliveries = new Hono<AppEnv>()
  .get(
    "/v1/webhooks/:id/deliveries",
    endpoint({
      operationId: "listWebhookDeliveries",
      scopes: ["webhooks"],
      summary: "The attempts to deliver to a webhook, or its failed deliveries",
      description:
        "Attempts come newest first. With state the gateway returns the failed deliveries in this state instead " +
        "(FailedDeliveryPage). The newest 10000 rejected and the newest 10000 dead deliveries come newest event first. " +
        "Retrying deliveries come oldest first. A replay with the eventId sends one of them again.",
      params: webhookId,
      query: deliveriesQuery,
      response: z.union([attemptPage, failedDeliveryPage]),
      errors: ["not_found"],
    }, async ({ key, params, query: { state, cursor, limit = 50 } }, { webhooks }) => {
      if (state === undefined) {
        const page = await webhooks.attempts(key.id, params.id, { cursor, limit });
        return { deliveries: page.attempts.map(publicAttempt), cursor: page.cursor };
      }
      const beyond = cursor === undefined ? undefined : Number(cursor.split(".")[1]);
      const failed = await webhooks.failed(key.id, params.id, { state, beyond, limit });
      const next = failed.length < limit ? null : `${state}.${failed.at(-1)!.delivery.sequence}`;
      return { deliveries: failed.map(publicFailedDelivery) as z.infer<typeof failedDelivery>[], cursor: next };
    }),
  )
  .get(
    "/v1/webhooks/:id/deliveries/:attempt",
    endpoint({
      operationId: "getWebhookDelivery",
      scopes: ["webhooks"],
      summary: "One attempt, with its request",
      description:
        "The gateway does not store headers and bodies. It rebuilds them from the event, the secret and the time of the attempt.",
      params: webhookId.extend({
        attempt: z.string().regex(/^[1-9]\d{0,14}$/, "must be the id of an attempt").meta({
          description: "Id of the attempt: a decimal string of 1 to 15 digits.",
          example: "3",
        }),
      }),
      response: z.object({
        attempt,
        request: z.object({
          url: text("URL of the webhook.", "https://shop.example.com/hook"),
          headers: z.record(z.string(), z.string()).meta({ description: "The request's headers by name." }),
          body: z.string().meta({
            description: "The request's body, byte by byte as signed.",
            example: `{"subscription":"${WEBHOOK_EXAMPLE}","event":{"id":"${EXAMPLE.eventId}"}}`,
          }),
        }).meta({ id: "SentRequest", description: "A request to a webhook." }).nullable().meta({
          description: "The request of the attempt; null when the gateway no longer stores the event.",
        }),
        secretRotatedSince: flag(
          "True: the secret was rotated after the attempt, or up to three seconds before it. The signatures are made with " +
            "the present secrets.",
          false,
        ),
      }).meta({ id: "SentAttempt", description: "An attempt with its request." }),
      errors: ["not_found"],
    }, async ({ key, params }, { webhooks }) => {
      const { attempt, request, isRotatedSince } = await webhooks.sent(key.id, params.id, params.attempt);
      return { attempt: publicAttempt(attempt), request: request ?? null, secretRotatedSince: isRotatedSince };
    }),
  );

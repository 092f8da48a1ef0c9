import { Hono } from "hono";
import { z } from "zod";
import { EVENT_TYPES } from "../../escrow/events.ts";
import { mustBeOneOf } from "../../escrow/values.ts";
import { FAILED_STATES } from "../../webhooks/failed_deliveries.ts";
import { publicAttempt, publicFailedDelivery } from "../../webhooks/public_webhook.ts";
import { endpoint } from "../endpoint.ts";
import type { AppEnv } from "../request_context.ts";
import { AS } from "../openapi_schemas.ts";
import { integerText } from "../validation/query.ts";

export const webhookId = z.object({
  id: z.string().regex(/^wh_[0-9A-Za-z]{1,40}$/, "must be the id of a webhook (wh_…)").describe("wh_…"),
});

export const attempt = z.object({
  id: z.string(),
  eventId: z.string(),
  eventType: z.string(),
  deliveryId: z.string().nullable().describe("null: a test event"),
  attempt: z.int().describe(
    "1 for the first attempt of a delivery; 0 for one that only asked whether a failing endpoint is back",
  ),
  at: z.iso.datetime(),
  durationMs: z.number(),
  outcome: z.enum(["delivered", "retry", "rejected", "dead"]).describe(
    "rejected: an answer that ends the retries; dead: given up; both are kept and can be replayed",
  ),
  statusCode: z.int().nullable().describe("null: there was no answer"),
  error: z.string().nullable(),
  responseBody: z.string().nullable().describe("The beginning of the answer's body"),
  nextAttemptAt: z.iso.datetime().nullable(),
}).meta({ id: "Attempt" });

const attemptPage = z.object({
  deliveries: z.array(attempt),
  cursor: z.string().nullable().describe("Where older attempts go on; null: there are none"),
}).meta({ id: "AttemptPage" });

const failedDelivery = z.object({
  eventId: z.string(),
  eventType: z.enum(EVENT_TYPES),
  ledger: z.int(),
  state: z.enum(FAILED_STATES),
  failedAt: z.iso.datetime().describe("When it first failed, or was given up without an attempt"),
  attempts: z.int().describe("How often it was tried; 0: it was given up for its age while the endpoint was failing"),
  nextAttemptAt: z.iso.datetime().nullable().describe("null unless it is retrying"),
  lastAttempt: attempt.nullable().describe("null: there was none, or it is not kept any more"),
}).meta({ id: "FailedDelivery" });

const failedDeliveryPage = z.object({
  deliveries: z.array(failedDelivery),
  cursor: z.string().nullable().describe("Where the list goes on; null: it ends here"),
}).meta({ id: "FailedDeliveryPage" });

const cursorRule = "must be one from an earlier answer";
/** What a cursor of failed deliveries begins with; that of attempts is a number alone. */
const stateOf = (cursor: string) => cursor.includes(".") ? cursor.split(".")[0] : undefined;

const deliveriesQuery = z.strictObject({
  state: z.enum(FAILED_STATES, mustBeOneOf(FAILED_STATES)).optional()
    .describe("Not the attempts, but the deliveries that are kept because they failed"),
  limit: integerText(1, 200).optional().meta({
    description: "1 to 200, 50 when absent",
    [AS]: { type: "integer", minimum: 1, maximum: 200, default: 50 },
  }),
  cursor: z.string().regex(/^((rejected|dead|retrying)\.)?[1-9]\d{0,14}$/, cursorRule).optional()
    .describe("From an earlier answer"),
}).refine(({ state, cursor }) => cursor === undefined || stateOf(cursor) === state, {
  path: ["cursor"],
  message: `${cursorRule} with the same state`,
});

/** What became of the deliveries to a webhook of the calling key. */
export const deliveries = new Hono<AppEnv>()
  .get(
    "/v1/webhooks/:id/deliveries",
    endpoint({
      operationId: "listWebhookDeliveries",
      scopes: ["webhooks"],
      summary: "The attempts to deliver to a webhook, newest first; or what failed",
      description:
        "With state it answers the deliveries that are kept in it instead (FailedDeliveryPage): rejected and dead the newest " +
        "event first, of each the newest 10000; retrying the oldest first. Replay one by its eventId.",
      params: webhookId,
      query: deliveriesQuery,
      answer: z.union([attemptPage, failedDeliveryPage]),
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
      summary: "One attempt, with what was sent",
      description:
        "Headers and body are not kept: they are made again from the event, the secret and the attempt's time.",
      params: webhookId.extend({
        attempt: z.string().regex(/^[1-9]\d{0,14}$/, "must be the id of an attempt").describe("Its id"),
      }),
      answer: z.object({
        attempt,
        request: z.object({
          url: z.string(),
          headers: z.record(z.string(), z.string()),
          body: z.string().describe("Exactly as it is signed"),
        }).meta({ id: "SentRequest" }).nullable().describe("null: the event is not held any more"),
        secretRotatedSince: z.boolean().describe(
          "The secret was rotated after the attempt, or up to three seconds before: the signatures are those of the secrets that sign now",
        ),
      }).meta({ id: "SentAttempt" }),
      errors: ["not_found"],
    }, async ({ key, params }, { webhooks }) => {
      const { attempt, request, isRotatedSince } = await webhooks.sent(key.id, params.id, params.attempt);
      return { attempt: publicAttempt(attempt), request: request ?? null, secretRotatedSince: isRotatedSince };
    }),
  );

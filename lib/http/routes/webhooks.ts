import { Hono } from "hono";
import { z } from "zod";
import { EVENT_TYPES } from "../../escrow/events.ts";
import { EXAMPLE } from "../../escrow/example_values.ts";
import { address, deviceHash, mustBeOneOf } from "../../escrow/values.ts";
import type { StoredConsumer } from "../../store/webhook.ts";
import { MAX_UINT32 } from "../../ledger_numbers.ts";
import { NOTHING_DELIVERED, publicAttempt, publicWebhook } from "../../webhooks/public_webhook.ts";
import { endpoint } from "../endpoint.ts";
import type { AppEnv } from "../request_context.ts";
import { anyEventId, count, flag, isoTime, text } from "../response_fields.ts";
import { attempt, WEBHOOK_EXAMPLE, webhookId } from "./deliveries.ts";
import { eventId, eventSchema } from "./events.ts";

const urlRule = "must be an https:// URL";
const ledgerRule = `must be an integer from 1 to ${MAX_UINT32}`;

const ledger = z.int(ledgerRule).min(1, ledgerRule).max(MAX_UINT32, ledgerRule);

/** A client may send a filter as a response shows it: null for no filter. */
const absentIfNull = <T>(filter: T | null | undefined) => filter ?? undefined;

const TYPES_EXAMPLE = ["payment.authorized", "payment.claimed"];
const SECRET_EXAMPLE = "whsec_onj8SPdVj7jMzTOzVxsapIYoL83VGtHaidYW51HW5n0=";

const filters = {
  types: z.array(z.enum(EVENT_TYPES, mustBeOneOf(EVENT_TYPES)), "must be an array of event types")
    .min(1, "must name at least one type").max(EVENT_TYPES.length, "must name each type once")
    .nullish().transform(absentIfNull)
    .meta({
      description: "Only events of these types; all but payment.expiring and payment.expired when absent or null.",
      example: TYPES_EXAMPLE,
    }),
  deviceHash: deviceHash.nullish().transform(absentIfNull).meta({
    description: "Only events of this card (64 hex digits); all cards when absent or null.",
    example: EXAMPLE.deviceHash,
  }),
  merchant: address.nullish().transform(absentIfNull).meta({
    description: "Only events of this merchant (G… or C…); all merchants when absent or null.",
    example: EXAMPLE.merchant,
  }),
};

const newWebhook = z.strictObject({
  url: z.string(urlRule).min(1, urlRule).meta({
    description:
      "Public https:// URL to which the gateway POSTs events. A sandbox also accepts http:// URLs of this machine.",
    example: "https://shop.example.com/hook",
  }),
  ...filters,
  ordered: z.boolean("must be true or false").optional().meta({
    description:
      "True: strictly one delivery at a time, and a failed delivery blocks all later ones. False when absent.",
    example: false,
  }),
}).meta({ id: "WebhookRequest", description: "A URL, and the events that the gateway delivers to it." });

const webhook = z.object({
  id: text("Id of the webhook (wh_…).", WEBHOOK_EXAMPLE),
  url: text("URL to which the gateway POSTs events.", "https://shop.example.com/hook"),
  types: z.array(z.enum(EVENT_TYPES)).nullable().meta({
    description: "Types of the delivered events. Null means all but payment.expiring and payment.expired.",
    example: TYPES_EXAMPLE,
  }),
  deviceHash: deviceHash.nullable().meta({
    description: "Card of the delivered events, 64 hex digits. Null means all cards.",
    example: null,
  }),
  merchant: address.nullable().meta({
    description: "Merchant of the delivered events (G… or C…). Null means all merchants.",
    example: null,
  }),
  ordered: flag("Whether the gateway delivers strictly one event at a time.", false),
  createdAt: isoTime("Time of the creation, UTC."),
  failingSince: isoTime("Time since which the endpoint has been failing, UTC; null while it is well.").nullable(),
  retrying: count("Deliveries that failed and wait for a retry.", 0),
  rejected: count("Deliveries that the receiver rejected (a 4xx, for example); a replay sends them again.", 0),
  dead: count("Deliveries that failed until the last attempt or for three days; a replay sends them again.", 0),
  previousSecretUntil: isoTime(
    "Until this time (UTC) the previous secret signs too. Null means that it does not.",
  )
    .nullable(),
}).meta({ id: "Webhook", description: "A webhook of the calling key." });

const webhookWithSecret = webhook.extend({
  secret: text(
    "Secret (whsec_…) that signs every delivery; the gateway shows it only in this response.",
    SECRET_EXAMPLE,
  ),
}).meta({ id: "WebhookWithSecret", description: "A webhook with its secret." });

const replayBody = z.strictObject({
  fromLedger: ledger.optional().meta({
    description: `First ledger of the range: 1 to ${MAX_UINT32}. Required without eventId.`,
    example: 1,
  }),
  toLedger: ledger.optional().meta({
    description: `Last ledger of the range, inclusive: 1 to ${MAX_UINT32}. The end of the log when absent.`,
    example: 1200,
  }),
  eventId: eventId.optional().meta({
    description: "Id of the only event to send again, instead of a range of ledgers.",
  }),
  dryRun: z.boolean("must be true or false").optional().meta({
    description: "True: count the events and send nothing. False when absent.",
    example: true,
  }),
}).refine(({ fromLedger, eventId }) => fromLedger !== undefined || eventId !== undefined, {
  path: ["fromLedger"],
  message: "send it, or eventId",
}).refine(({ fromLedger, toLedger, eventId }) => eventId === undefined || (fromLedger ?? toLedger) === undefined, {
  path: ["eventId"],
  message: "and a range of ledgers exclude each other: send one of them",
}).meta({ id: "ReplayRequest", description: "Past events: a range of ledgers, or one event." });

/** The body of a delivery. */
export const webhookDelivery = z.object({
  subscription: text("Id of the webhook (wh_…).", WEBHOOK_EXAMPLE),
  event: z.union([
    eventSchema,
    z.object({
      id: anyEventId("Id of the test event: test- and letters or digits.", "test-KVhnA1XB8br7uFJEuKVUo7"),
      type: z.literal("webhook.test").meta({ description: "Type of the event." }),
      createdAt: isoTime("Time of the test, UTC."),
    }).meta({ id: "WebhookTestEvent", description: "The event of POST /v1/webhooks/:id/test." }),
  ]).meta({ description: "The event, or a test event." }),
}).meta({ id: "WebhookDelivery", description: "Body of a delivery to a webhook." });

/** Webhooks of the calling key. A key cannot see or change the webhooks of other keys. */
export const webhooks = new Hono<AppEnv>()
  .post(
    "/v1/webhooks",
    endpoint({
      operationId: "createWebhook",
      scopes: ["webhooks"],
      status: 201,
      summary: "Subscribe a URL to events",
      description:
        "The gateway delivers events of ledgers after the latest ledger at the creation; a replay delivers older events. The " +
        "gateway shows the secret only in this response. A repeated request with the same Idempotency-Key gets the same webhook " +
        "with its secret, and creates no second one.",
      idempotent: true,
      body: newWebhook,
      response: webhookWithSecret,
      errors: ["not_found", "upstream_error"],
    }, async ({ key, body, idempotencyKey }, { webhooks }) => {
      const { plainSecret, ...subscription } = await webhooks.create(body, { keyId: key.id, idempotencyKey });
      // A repeated request finds a webhook with a history. When the store cannot read this history, the secret is still returned.
      const there = idempotencyKey && await webhooks.get(key.id, subscription.id).catch(() => undefined);
      const progress = there ? there.progress : NOTHING_DELIVERED;
      return { ...shown({ subscription, progress }), secret: plainSecret };
    }),
  )
  .get(
    "/v1/webhooks",
    endpoint({
      operationId: "listWebhooks",
      scopes: ["webhooks"],
      summary: "The webhooks of the calling key",
      response: z.object({ webhooks: z.array(webhook).meta({ description: "The webhooks of the calling key." }) })
        .meta({ id: "WebhookList", description: "All webhooks of a key." }),
      errors: [],
    }, async ({ key }, { webhooks }) => ({ webhooks: (await webhooks.list(key.id)).map(shown) })),
  )
  .get(
    "/v1/webhooks/:id",
    endpoint({
      operationId: "getWebhook",
      scopes: ["webhooks"],
      summary: "One webhook",
      params: webhookId,
      response: webhook,
      errors: ["not_found"],
    }, async ({ key, params }, { webhooks }) => shown(await webhooks.get(key.id, params.id))),
  )
  .delete(
    "/v1/webhooks/:id",
    endpoint({
      operationId: "deleteWebhook",
      scopes: ["webhooks"],
      summary: "Delete a webhook, with its pending deliveries",
      params: webhookId,
      response: z.object({ deleted: z.literal(true).meta({ description: "Always true." }) })
        .meta({ id: "Deleted", description: "The webhook is deleted." }),
      errors: ["not_found"],
    }, async ({ key, params }, { webhooks }) => {
      await webhooks.remove(key.id, params.id);
      return { deleted: true as const };
    }),
  )
  .post(
    "/v1/webhooks/:id/secret",
    endpoint({
      operationId: "rotateWebhookSecret",
      scopes: ["webhooks"],
      summary: "Give a webhook a new secret",
      description:
        "For 24 hours the gateway signs deliveries with the previous secret too. It shows the new secret only in this response. " +
        "A second request within half a minute gets the same secret, for a client that lost the response. The gateway refuses a " +
        "rotation while two previous secrets still sign.",
      params: webhookId,
      response: webhookWithSecret,
      errors: ["not_found"],
    }, async ({ key, params }, { webhooks }) => {
      // No read follows: a store that fails now must not hide the new secret from its owner.
      const { plainSecret, progress, ...subscription } = await webhooks.rotateSecret(key.id, params.id);
      return { ...shown({ subscription, progress }), secret: plainSecret };
    }),
  )
  .post(
    "/v1/webhooks/:id/test",
    endpoint({
      operationId: "testWebhook",
      scopes: ["webhooks"],
      summary: "Send a signed test event now",
      description: "At most six tests a minute for each webhook.",
      params: webhookId,
      response: z.object({ attempt: attempt.meta({ description: "The attempt to deliver the test event." }) })
        .meta({ id: "WebhookTest", description: "Result of a test." }),
      errors: ["not_found"],
    }, async ({ key, params }, { webhooks }) => ({ attempt: publicAttempt(await webhooks.test(key.id, params.id)) })),
  )
  .post(
    "/v1/webhooks/:id/replay",
    endpoint(
      {
        operationId: "replayWebhook",
        scopes: ["webhooks"],
        cost: 10,
        status: 202,
        isPlain: ({ id }) => id === null,
        summary: "Send past events to a webhook again",
        description:
          "A replay sends the events of a range of ledgers, or one event. It runs in the background, one at a time for each " +
          "webhook. With dryRun the gateway only counts the events. The replays of a key scan at most a million events a " +
          "day.\n\n" +
          "A repeated request with the same Idempotency-Key returns the same replay. One exception: the gateway was killed while it " +
          "began a replay that has ended since. It begins this replay again.",
        idempotent: true,
        params: webhookId,
        body: replayBody,
        response: z.object({
          id: z.string().nullable().meta({
            description: "Id of the replay (rp_…); null with dryRun.",
            example: "rp_xk5ZwZWUcIbvNWbQc5BuAo",
          }),
          deliveries: count("Number of events to send, at most 10000.", 2),
          atLeast: flag("True: there are more events, because the gateway counts at most 10000.", false),
        }).meta({ id: "Replay", description: "A replay that began, or its size with dryRun." }),
        errors: ["not_found"],
      },
      ({ key, params, body: { fromLedger, toLedger, eventId, dryRun = false }, idempotencyKey }, { webhooks }) => {
        const what = eventId === undefined ? { fromLedger: fromLedger!, toLedger } : { eventId };
        return webhooks.replay(params.id, { ...what, dryRun }, { keyId: key.id, idempotencyKey });
      },
    ),
  );

function shown(
  { subscription, progress }: Pick<StoredConsumer, "subscription"> & { progress: typeof NOTHING_DELIVERED },
) {
  return publicWebhook(subscription, progress) as z.infer<typeof webhook>;
}

import { z } from "zod";
import { EVENT_TYPES } from "../../escrow/events.ts";
import { address, deviceHash } from "../../escrow/values.ts";
import type { Subscription } from "../../store/webhook_store.ts";
import { publicAttempt, publicWebhook } from "../../webhooks/public_webhook.ts";
import type { SubscriptionWithSecret } from "../../webhooks/secrets/rotation.ts";
import type { Subscriptions } from "../../webhooks/subscriptions.ts";
import { type AnyRoute, route } from "../route.ts";

const typeRule = `must be one of ${EVENT_TYPES.join(", ")}`;
const ledgerRule = "must be an integer from 1 to 4294967295";

const id = z.object({ id: z.string().min(1).describe("wh_…") });
const ledger = z.int(ledgerRule).min(1, ledgerRule).max(4_294_967_295, ledgerRule);

const filters = {
  types: z.array(z.enum(EVENT_TYPES, typeRule), "must be an array of event types").min(1, "must name at least one type")
    .max(EVENT_TYPES.length, "must name each type once").optional().describe("Only these event types; all when absent"),
  deviceHash: deviceHash.optional().describe("Only events with this device hash"),
  merchant: address.optional().describe("Only events with this merchant"),
};

/** @param urlRule what a URL must be; asked only when one is wrong */
function newWebhook(urlRule: () => string) {
  const url = z.string({ error: urlRule }).min(1, { error: urlRule })
    .describe("Where events are POSTed to; https only, but in the sandbox");
  return z.strictObject({ url, ...filters });
}

const webhook = z.object({
  id: z.string(),
  url: z.string(),
  types: z.array(z.enum(EVENT_TYPES)).nullable().describe("null: all"),
  deviceHash: deviceHash.nullable(),
  merchant: address.nullable(),
  createdAt: z.iso.datetime(),
  previousSecretUntil: z.iso.datetime().nullable().describe("Until then the secret before the last rotation signs too"),
});

const webhookWithSecret = webhook.extend({
  secret: z.string().describe("Signs every delivery (whsec_…); shown this once"),
});

const attempt = z.object({
  id: z.string(),
  eventId: z.string(),
  eventType: z.string(),
  deliveryId: z.string().nullable().describe("null: a test event"),
  attempt: z.int().describe("1 for the first attempt of a delivery"),
  at: z.iso.datetime(),
  durationMs: z.number(),
  outcome: z.enum(["delivered", "retry", "ended", "dead"]).describe(
    "ended: an answer that ends the retries; dead: the last attempt failed, replay it",
  ),
  statusCode: z.int().nullable().describe("null: there was no answer"),
  error: z.string().nullable(),
  responseBody: z.string().nullable().describe("The beginning of the answer's body"),
  nextAttemptAt: z.iso.datetime().nullable(),
});

const deliveriesQuery = z.strictObject({
  limit: z.string().regex(/^[1-9]\d{0,2}$/, "must be an integer from 1 to 200").transform(Number)
    .refine((n) => n <= 200, "must be an integer from 1 to 200").optional().describe("1 to 200, 50 when absent"),
  cursor: z.string().regex(/^\d{15}-[0-9A-Za-z]{1,32}$/, "must be one from an earlier answer").optional()
    .describe("From an earlier answer"),
});

/** Webhooks of the calling key: it sees and touches only its own. */
export function webhookRoutes(webhooks: Subscriptions): AnyRoute[] {
  return [
    route({
      method: "post",
      path: "/v1/webhooks",
      scope: "webhooks",
      status: 201,
      summary: "Subscribe a URL to events",
      description:
        "It hears the ledgers after the newest one at its creation; older ones come by replay. The secret is shown this once.",
      body: newWebhook(() => webhooks.targetRule),
      answer: webhookWithSecret,
      errors: ["upstream_error"],
      handle: async ({ key, body }) => withSecret(await webhooks.create(key.id, body)),
    }),
    route({
      method: "get",
      path: "/v1/webhooks",
      scope: "webhooks",
      summary: "The webhooks of the calling key",
      answer: z.object({ webhooks: z.array(webhook) }),
      errors: [],
      handle: async ({ key }) => ({ webhooks: (await webhooks.list(key.id)).map(shown) }),
    }),
    route({
      method: "get",
      path: "/v1/webhooks/:id",
      scope: "webhooks",
      summary: "One webhook",
      params: id,
      answer: webhook,
      errors: ["not_found"],
      handle: async ({ key, params }) => shown(await webhooks.get(key.id, params.id)),
    }),
    route({
      method: "delete",
      path: "/v1/webhooks/:id",
      scope: "webhooks",
      summary: "Delete a webhook, with what is still owed to it",
      params: id,
      answer: z.object({ deleted: z.literal(true) }),
      errors: ["not_found"],
      async handle({ key, params }) {
        await webhooks.remove(key.id, params.id);
        return { deleted: true as const };
      },
    }),
    route({
      method: "post",
      path: "/v1/webhooks/:id/secret",
      scope: "webhooks",
      summary: "Give a webhook a new secret",
      description: "For 24 hours deliveries are signed with the secret before it too. The new one is shown this once.",
      params: id,
      answer: webhookWithSecret,
      errors: ["not_found"],
      handle: async ({ key, params }) => withSecret(await webhooks.rotateSecret(key.id, params.id)),
    }),
    route({
      method: "post",
      path: "/v1/webhooks/:id/test",
      scope: "webhooks",
      summary: "Send a signed test event now",
      description: "At most six a minute for each webhook.",
      params: id,
      answer: z.object({ attempt }),
      errors: ["not_found"],
      handle: async ({ key, params }) => ({ attempt: publicAttempt(await webhooks.test(key.id, params.id)) }),
    }),
    route({
      method: "get",
      path: "/v1/webhooks/:id/deliveries",
      scope: "webhooks",
      summary: "The attempts to deliver to a webhook, newest first",
      params: id,
      query: deliveriesQuery,
      answer: z.object({
        deliveries: z.array(attempt),
        cursor: z.string().nullable().describe("Where older attempts go on; null: there are none"),
      }),
      errors: ["not_found"],
      async handle({ key, params, query: { cursor, limit = 50 } }) {
        const page = await webhooks.attempts(key.id, params.id, { cursor, limit });
        return { deliveries: page.attempts.map(publicAttempt), cursor: page.cursor };
      },
    }),
    replayRoute(webhooks),
  ];
}

function replayRoute(webhooks: Subscriptions): AnyRoute {
  return route({
    method: "post",
    path: "/v1/webhooks/:id/replay",
    scope: "webhooks",
    status: 202,
    isPlain: ({ id }) => id === null,
    summary: "Send past events to a webhook again",
    description:
      "A job that goes on in the background, one for each webhook at a time. With dryRun it is only counted.",
    params: id,
    body: z.strictObject({
      fromLedger: ledger,
      toLedger: ledger.optional().describe("Inclusive; all that is held when absent"),
      dryRun: z.boolean("must be true or false").optional().describe("Only count, send nothing"),
    }),
    answer: z.object({
      id: z.string().nullable().describe("The job; null with dryRun"),
      deliveries: z.int().describe("How many events are sent again"),
    }),
    errors: ["not_found"],
    handle: ({ key, params, body: { dryRun = false, ...range } }) =>
      webhooks.replay(key.id, params.id, { ...range, dryRun }),
  });
}

function shown(subscription: Subscription) {
  return publicWebhook(subscription) as z.infer<typeof webhook>;
}

function withSecret(subscription: SubscriptionWithSecret) {
  return { ...shown(subscription), secret: subscription.plainSecret };
}

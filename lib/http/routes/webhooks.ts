import { Hono } from "hono";
import { z } from "zod";
import { EVENT_TYPES } from "../../escrow/events.ts";
import { address, deviceHash, mustBeOneOf } from "../../escrow/values.ts";
import type { StoredConsumer } from "../../store/webhook.ts";
import { MAX_UINT32 } from "../../ledger_numbers.ts";
import { NOTHING_DELIVERED, publicAttempt, publicWebhook } from "../../webhooks/public_webhook.ts";
import { endpoint } from "../endpoint.ts";
import type { AppEnv } from "../request_context.ts";
import { attempt, webhookId } from "./deliveries.ts";
import { eventAnswer, eventId } from "./events.ts";

const urlRule = "must be an https:// URL";
const ledgerRule = `must be an integer from 1 to ${MAX_UINT32}`;

const ledger = z.int(ledgerRule).min(1, ledgerRule).max(MAX_UINT32, ledgerRule);

/** A filter may be given as it is answered: null where there is none. */
const absentIfNull = <T>(filter: T | null | undefined) => filter ?? undefined;

const filters = {
  types: z.array(z.enum(EVENT_TYPES, mustBeOneOf(EVENT_TYPES)), "must be an array of event types")
    .min(1, "must name at least one type").max(EVENT_TYPES.length, "must name each type once")
    .nullish().transform(absentIfNull).describe("Only these event types; all when absent"),
  deviceHash: deviceHash.nullish().transform(absentIfNull).describe("Only events with this device hash"),
  merchant: address.nullish().transform(absentIfNull).describe("Only events with this merchant"),
};

const newWebhook = z.strictObject({
  url: z.string(urlRule).min(1, urlRule).describe("Where events are POSTed to; https only, but in the sandbox"),
  ...filters,
  ordered: z.boolean("must be true or false").optional().describe(
    "Strictly one delivery at a time, waiting at one that failed; false when absent",
  ),
}).meta({ id: "NewWebhook" });

const webhook = z.object({
  id: z.string(),
  url: z.string(),
  types: z.array(z.enum(EVENT_TYPES)).nullable().describe("null: all"),
  deviceHash: deviceHash.nullable(),
  merchant: address.nullable(),
  ordered: z.boolean(),
  createdAt: z.iso.datetime(),
  failingSince: z.iso.datetime().nullable().describe("Since when its endpoint has been failing; null: it is well"),
  retrying: z.int().describe("Deliveries that failed and are to be tried again"),
  rejected: z.int().describe("Deliveries that an answer (4xx and the like) ended: replay them"),
  dead: z.int().describe("Deliveries given up after the last attempt or three days: replay them"),
  previousSecretUntil: z.iso.datetime().nullable().describe("Until then the secret before the last rotation signs too"),
}).meta({ id: "Webhook" });

const webhookWithSecret = webhook.extend({
  secret: z.string().describe("Signs every delivery (whsec_…); shown this once"),
}).meta({ id: "WebhookWithSecret" });

const replayBody = z.strictObject({
  fromLedger: ledger.optional(),
  toLedger: ledger.optional().describe("Inclusive; all that is held when absent"),
  eventId: eventId.optional().describe("This event alone, instead of ledgers"),
  dryRun: z.boolean("must be true or false").optional().describe("Only count, send nothing"),
}).refine(({ fromLedger, eventId }) => fromLedger !== undefined || eventId !== undefined, {
  path: ["fromLedger"],
  message: "send it, or eventId",
}).refine(({ fromLedger, toLedger, eventId }) => eventId === undefined || (fromLedger ?? toLedger) === undefined, {
  path: ["eventId"],
  message: "and a range of ledgers exclude each other: send one of them",
}).meta({ id: "ReplayRequest" });

/** What a webhook is sent. */
export const webhookDelivery = z.object({
  subscription: z.string().describe("Id of the webhook"),
  event: z.union([
    eventAnswer,
    z.object({ id: z.string(), type: z.literal("webhook.test"), createdAt: z.iso.datetime() }).meta({
      id: "WebhookTestEvent",
      description: "What POST /v1/webhooks/:id/test sends",
    }),
  ]),
}).meta({ id: "WebhookDelivery" });

/** Webhooks of the calling key: it sees and touches only its own. */
export const webhooks = new Hono<AppEnv>()
  .post(
    "/v1/webhooks",
    endpoint({
      operationId: "createWebhook",
      scopes: ["webhooks"],
      status: 201,
      summary: "Subscribe a URL to events",
      description:
        "It hears the ledgers after the newest one at its creation; older ones come by replay. The secret is shown this " +
        "once, and again to whoever sends the same with the same Idempotency-Key, which makes no second webhook.",
      idempotent: true,
      body: newWebhook,
      answer: webhookWithSecret,
      errors: ["not_found", "upstream_error"],
    }, async ({ key, body, idempotencyKey }, { webhooks }) => {
      const { plainSecret, ...subscription } = await webhooks.create(body, { keyId: key.id, idempotencyKey });
      // One that was there already may have failed since; where that cannot be read its secret is told all the same.
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
      answer: z.object({ webhooks: z.array(webhook) }).meta({ id: "WebhookList" }),
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
      answer: webhook,
      errors: ["not_found"],
    }, async ({ key, params }, { webhooks }) => shown(await webhooks.get(key.id, params.id))),
  )
  .delete(
    "/v1/webhooks/:id",
    endpoint({
      operationId: "deleteWebhook",
      scopes: ["webhooks"],
      summary: "Delete a webhook, with what is still owed to it",
      params: webhookId,
      answer: z.object({ deleted: z.literal(true) }).meta({ id: "Deleted" }),
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
        "For 24 hours deliveries are signed with the secret before it too. The new one is shown this once, and again to who asks " +
        "within half a minute, as one who has not heard the answer. Refused while two former secrets sign still.",
      params: webhookId,
      answer: webhookWithSecret,
      errors: ["not_found"],
    }, async ({ key, params }, { webhooks }) => {
      // Nothing is read after it: what has been written must not be kept from its owner by a store that fails then.
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
      description: "At most six a minute for each webhook.",
      params: webhookId,
      answer: z.object({ attempt }).meta({ id: "WebhookTest" }),
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
          "Those of a range of ledgers, or one event. A job that goes on in the background, one for each webhook at a time. " +
          "With dryRun it is only counted. The replays of a key look through a million events in a day. The same with the same " +
          "Idempotency-Key is answered with the job of before; only where a gateway was killed just as it began one that has " +
          "ended since is it begun once more.",
        idempotent: true,
        params: webhookId,
        body: replayBody,
        answer: z.object({
          id: z.string().nullable().describe("The job; null with dryRun"),
          deliveries: z.int().describe("How many events are sent again"),
          atLeast: z.boolean().describe("There are more: no more than 10000 are counted"),
        }).meta({ id: "Replay" }),
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

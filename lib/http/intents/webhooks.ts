import { createHash } from "node:crypto";
import { GatewayError } from "../../errors.ts";
import type { NewSubscription } from "../../webhooks/creation.ts";
import type { Subscriptions } from "../../webhooks/subscriptions.ts";
import type { SubscriptionWithSecret } from "../../webhooks/secrets/rotation.ts";
import { IDEMPOTENCY_KEY } from "../validation/idempotency_key.ts";
import type { IdempotentOperation } from "./idempotent_operation.ts";
import type { Caller } from "./transactions.ts";

export type CreateWebhook = (wanted: NewSubscription, caller: Caller) => Promise<SubscriptionWithSecret>;

/**
 * Creates a subscription. A repeated request returns the same one with its secret, which only the subscription stores. Its id
 * is the intent's, so a retry finds it after a kill. Its creation needs the claim, so a slow gateway cannot create it again
 * after its deletion.
 */
export function createWebhookIntents(
  { once, webhooks }: { once: IdempotentOperation; webhooks: Pick<Subscriptions, "create" | "withSecret"> },
): CreateWebhook {
  return async function createWebhook(wanted, { keyId, idempotencyKey }) {
    if (idempotencyKey === undefined) return await webhooks.create(keyId, wanted);
    return await once({ keyId, kind: "webhook", key: idempotencyKey }, {
      request: digestOf(wanted),
      async repeat(id) {
        const made = await webhooks.withSecret(keyId, id);
        if (made !== undefined) return made;
        const message = `the webhook ${id} of this ${IDEMPOTENCY_KEY} is deleted: use a new key to create another`;
        throw new GatewayError("not_found", message, { param: IDEMPOTENCY_KEY });
      },
      async work(claim) {
        const made = await webhooks.create(keyId, wanted, claim);
        return { answer: made, result: made.id };
      },
    });
  };
}

export type ReplayWebhook = (
  id: string,
  request: Parameters<Subscriptions["replay"]>[2],
  caller: Caller,
) => ReturnType<Subscriptions["replay"]>;

/**
 * Begins a replay. A repeated request returns the same job. The job's id begins with the intent's, so a retry after a kill
 * finds it while the job runs. A dry run ignores the key.
 */
export function createReplayIntents(
  { once, webhooks }: { once: IdempotentOperation; webhooks: Pick<Subscriptions, "replay"> },
): ReplayWebhook {
  return async function replayWebhook(id, request, { keyId, idempotencyKey }) {
    if (idempotencyKey === undefined || request.dryRun) return await webhooks.replay(keyId, id, request);
    return await once({ keyId, kind: "replay", key: idempotencyKey }, {
      request: digestOf([id, request]),
      repeat: (result) => Promise.resolve(JSON.parse(result)),
      async work(claim) {
        const answer = await webhooks.replay(keyId, id, request, claim);
        return { answer, result: JSON.stringify(answer) };
      },
    });
  };
}

function digestOf(request: unknown): string {
  return createHash("sha256").update(JSON.stringify(request)).digest("hex");
}

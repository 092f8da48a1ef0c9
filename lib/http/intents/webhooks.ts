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
 * Creates a subscription; for an intent the same one again, with its secret, which stands nowhere but in the subscription
 * itself. Its id is the intent's: a gateway that was killed after it had made it finds it. It is made under the claim: who
 * was slow does not make it again when it was deleted meanwhile.
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
        const message =
          `the webhook ${id}, which this ${IDEMPOTENCY_KEY} made, was deleted since: another needs a new key`;
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
 * Begins a replay; for an intent it tells of the same job again. The job's id begins with the intent's: after a gateway
 * was killed that had begun it, it is found for as long as it goes on. What is only counted takes no key.
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

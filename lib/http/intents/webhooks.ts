import { createHash } from "node:crypto";
import { GatewayError } from "../../errors.ts";
import type { NewSubscription } from "../../webhooks/creation.ts";
import type { Subscriptions } from "../../webhooks/subscriptions.ts";
import type { SubscriptionWithSecret } from "../../webhooks/secrets/rotation.ts";
import { IDEMPOTENCY_KEY } from "../validation/idempotency_key.ts";
import type { Once } from "./once.ts";
import type { Caller } from "./transactions.ts";

export type CreateWebhook = (wanted: NewSubscription, caller: Caller) => Promise<SubscriptionWithSecret>;

/**
 * Creates a subscription; for an intent the same one again, with its secret, which stands nowhere but in the subscription
 * itself. Its id is the intent's: a gateway that was killed after it had made it finds it. It is made under the claim: who
 * was slow does not make it again when it was deleted meanwhile.
 */
export function createWebhookIntents(
  { once, webhooks }: { once: Once; webhooks: Pick<Subscriptions, "create" | "withSecret"> },
): CreateWebhook {
  return async function createWebhook(wanted, { keyId, idempotencyKey }) {
    if (idempotencyKey === undefined) return await webhooks.create(keyId, wanted);
    return await once({ keyId, kind: "webhook", key: idempotencyKey }, {
      request: createHash("sha256").update(JSON.stringify(wanted)).digest("hex"),
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

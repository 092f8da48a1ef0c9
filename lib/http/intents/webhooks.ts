import { createHash } from "node:crypto";
import { GatewayError } from "../../errors.ts";
import { type CreationIntent, IntentRefused, type IntentStore, type NewIntent } from "../../store/intent.ts";
import type { NewSubscription } from "../../webhooks/creation.ts";
import type { Subscriptions } from "../../webhooks/subscriptions.ts";
import type { SubscriptionWithSecret } from "../../webhooks/secrets/rotation.ts";
import { IDEMPOTENCY_KEY } from "../validation/idempotency_key.ts";
import { anotherRequest, full, KEPT_INTENTS } from "./intent_errors.ts";
import type { Caller } from "./transactions.ts";

export type CreateWebhook = (wanted: NewSubscription, caller: Caller) => Promise<SubscriptionWithSecret>;

export type ReplayWebhook = (
  id: string,
  request: Parameters<Subscriptions["replay"]>[2],
  caller: Caller,
) => ReturnType<Subscriptions["replay"]>;

/**
 * Creates a webhook, or begins a replay, once for all requests with the same key, on all gateways. The store writes the intent
 * in the commit that makes the webhook or replay, so a killed gateway leaves both or neither. Of two requests at the same
 * time, the later one finds the intent of the first.
 */
export function createWebhookIntents({ intents, webhooks, networkSeconds, newVersion, onFull }: {
  intents: Pick<IntentStore, "get">;
  webhooks: Pick<Subscriptions, "create" | "withSecret" | "replay">;
  /** The network's time, Unix seconds. */
  networkSeconds(): number;
  /** A unique text. */
  newVersion(): string;
  /** Called for each request refused because the store has too many intents. */
  onFull?(): void;
}): { create: CreateWebhook; replay: ReplayWebhook } {
  async function once<T>(
    name: NewIntent["name"],
    wanted: unknown,
    { work, repeat }: { work(intent: CreationIntent): Promise<T>; repeat(state: unknown): Promise<T> },
  ): Promise<T> {
    const request = createHash("sha256").update(JSON.stringify(wanted)).digest("hex");
    for (;;) {
      const seen = await intents.get(name);
      if (seen !== undefined) {
        if (seen.request !== request) throw anotherRequest(name.key);
        return await repeat(seen.state);
      }
      try {
        return await work((state) => {
          const intent = { request, state };
          return { name, version: newVersion(), intent, ...KEPT_INTENTS, atMs: networkSeconds() * 1_000 };
        });
      } catch (error) {
        if (error instanceof IntentRefused && error.verdict === "full") {
          onFull?.();
          throw full();
        }
        // When another request was first, the next look finds its intent. That may also be why this one was refused.
        const isSecond = error instanceof IntentRefused ||
          (error instanceof GatewayError && await intents.get(name) !== undefined);
        if (!isSecond) throw error;
      }
    }
  }

  return {
    async create(wanted, { keyId, idempotencyKey: key }) {
      if (key === undefined) return await webhooks.create(keyId, wanted);
      return await once({ keyId, kind: "webhook", key }, wanted, {
        work: (intent) => webhooks.create(keyId, wanted, intent),
        // Only the subscription stores its secret.
        async repeat(id) {
          const made = await webhooks.withSecret(keyId, id as string);
          if (made !== undefined) return made;
          const message = `the webhook ${id} of this ${IDEMPOTENCY_KEY} is deleted: use a new key to create another`;
          throw new GatewayError("not_found", message, { param: IDEMPOTENCY_KEY });
        },
      });
    },
    /** A dry run ignores the key. */
    async replay(id, request, { keyId, idempotencyKey: key }) {
      if (key === undefined || request.dryRun) return await webhooks.replay(keyId, id, request);
      return await once({ keyId, kind: "replay", key }, [id, request], {
        work: (intent) => webhooks.replay(keyId, id, request, intent),
        repeat: (begun) => Promise.resolve(begun as Awaited<ReturnType<ReplayWebhook>>),
      });
    },
  };
}

import { createHash } from "node:crypto";
import type { Subscriptions } from "../../webhooks/subscriptions.ts";
import type { Once } from "./once.ts";
import type { Caller } from "./transactions.ts";

type Replay = Subscriptions["replay"];

export type ReplayWebhook = (
  id: string,
  request: Parameters<Replay>[2],
  caller: Caller,
) => ReturnType<Replay>;

/**
 * Begins a replay; for an intent it tells of the same job again. The job's id begins with the intent's: after a gateway
 * was killed that had begun it, it is found for as long as it goes on. What is only counted takes no key.
 */
export function createReplayIntents(
  { once, webhooks }: { once: Once; webhooks: Pick<Subscriptions, "replay"> },
): ReplayWebhook {
  return async function replayWebhook(id, request, { keyId, idempotencyKey }) {
    if (idempotencyKey === undefined || request.dryRun) return await webhooks.replay(keyId, id, request);
    return await once({ keyId, kind: "replay", key: idempotencyKey }, {
      request: createHash("sha256").update(JSON.stringify([id, request])).digest("hex"),
      repeat: (result) => Promise.resolve(JSON.parse(result)),
      async work(claim) {
        const answer = await webhooks.replay(keyId, id, request, claim);
        return { answer, result: JSON.stringify(answer) };
      },
    });
  };
}

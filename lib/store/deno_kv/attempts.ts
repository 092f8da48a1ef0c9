import type { KvAtomic } from "../../runtime/kv.ts";
import { checkLimit, END_OF_POSITIONS } from "../bounds.ts";
import type { DenoKvContext } from "./store.ts";
import { collect, commit } from "./io.ts";
import { attemptKey, attemptTimeKey, subscriptionKey } from "./webhook_keys.ts";
import type { Attempt, WebhookStore } from "../webhook_store.ts";

type AttemptMethods = Pick<WebhookStore, "recordAttempt" | "listAttempts">;

/** Attempts that were made. */
export function denoKvAttempts({ kv, run, retry }: DenoKvContext): AttemptMethods {
  return {
    recordAttempt: (attempt) =>
      run(() =>
        retry(async () => {
          const [subscription, held] = await kv.getMany([
            subscriptionKey(attempt.subscriptionId),
            attemptKey(attempt.subscriptionId, attempt.id),
          ]);
          if (subscription.value === null || held.value !== null) return { done: undefined };
          const atomic = kv.atomic().check(subscription, held);
          noteAttempt(atomic, attempt);
          return await commit(atomic) ? { done: undefined } : undefined;
        })
      ),
    listAttempts: (subscriptionId, { before = END_OF_POSITIONS, limit }) =>
      run(async () => {
        checkLimit(limit, 200);
        if ((await kv.get(subscriptionKey(subscriptionId))).value === null) return [];
        const range = { prefix: ["attempt", subscriptionId], end: attemptKey(subscriptionId, before) };
        return (await collect(kv.list<Attempt>(range, { limit, reverse: true }))).map(({ value }) => value);
      }),
  };
}

/** Two writes. */
export function noteAttempt(atomic: KvAtomic, attempt: Attempt): void {
  const { id, subscriptionId, atMs } = attempt;
  atomic.set(attemptKey(subscriptionId, id), attempt).set(attemptTimeKey(atMs, subscriptionId, id), true);
}

import { checkBatch, checkLimit } from "../bounds.ts";
import type { DenoKvContext } from "./store.ts";
import { collect, commit, getAll, type Write } from "./io.ts";
import { addDeliveries } from "./outbox.ts";
import { removeReplay } from "./subscriptions.ts";
import { replayKey, replayOfKey, REPLAYS_VERSION, replayTimeKey, subscriptionKey } from "./webhook_keys.ts";
import { StoreError } from "../store.ts";
import type { Replay, WebhookStore } from "../webhook_store.ts";

type ReplayMethods = Pick<WebhookStore, "insertReplay" | "listReplays" | "commitReplay">;

/** Replays under way. */
export function denoKvReplays({ kv, location, run, retry }: DenoKvContext): ReplayMethods {
  return {
    insertReplay: (replay) =>
      run(() =>
        retry(async () => {
          const { id, subscriptionId, createdAtMs } = replay;
          const [subscription, other, same] = await kv.getMany([
            subscriptionKey(subscriptionId),
            replayOfKey(subscriptionId),
            replayKey(id),
          ]);
          if (subscription.value === null) return { done: undefined };
          if (other.value !== null || same.value !== null) {
            throw new StoreError(
              "exists",
              `${location} holds a replay of the subscription "${subscriptionId}" already`,
            );
          }
          const atomic = kv.atomic().check(subscription, other, same).sum(REPLAYS_VERSION, 1n)
            .set(replayKey(id), replay)
            .set(replayOfKey(subscriptionId), id)
            .set(replayTimeKey(createdAtMs, id), true);
          return await commit(atomic) ? { done: undefined } : undefined;
        })
      ),
    listReplays: (limit) =>
      run(async () => {
        checkLimit(limit, 100);
        const ids = (await collect(kv.list({ prefix: ["replay_by_time"] }, { limit }))).map(({ key }) =>
          key[2] as string
        );
        const held = await getAll<Replay>(kv, ids.map(replayKey));
        return held.map(({ value }) => value).filter((replay) => replay !== null);
      }),
    commitReplay: ({ id, expectedPosition, position, done, deliveries }) =>
      run(() => {
        checkBatch(deliveries, 200);
        return retry(async () => {
          const held = await kv.get<Replay>(replayKey(id));
          const replay = held.value;
          if (replay?.position !== expectedPosition) return { done: false };
          const move: Write = {
            key: held.key,
            to: (atomic) => done ? removeReplay(atomic, replay) : atomic.set(held.key, { ...replay, position }),
          };
          return await addDeliveries(kv, deliveries, { checks: [held], writes: [move] }) ? { done: true } : undefined;
        });
      }),
  };
}

import type { Kv, KvAtomic, KvU64 } from "../../runtime/kv.ts";
import { checkBatch, checkLimit } from "../bounds.ts";
import type { DenoKvContext } from "./store.ts";
import { collect, commit, getAll, next, present } from "./io.ts";
import {
  deadKey,
  deletedKey,
  leaseKey,
  pendingKey,
  replayKey,
  replayOfKey,
  REPLAYS_VERSION,
  replayTimeKey,
  SECRETS_CHECK,
  subscriptionCountKey,
  subscriptionKey,
  subscriptionOfKey,
  SUBSCRIPTIONS_VERSION,
} from "./webhook_keys.ts";
import { StoreError } from "../store.ts";
import type { Replay, Subscription, WebhookStore } from "../webhook_store.ts";

type SubscriptionMethods = Pick<
  WebhookStore,
  | "insertSubscription"
  | "getSubscription"
  | "listSubscriptions"
  | "setSubscriptionSecrets"
  | "deleteSubscription"
  | "subscriptionsVersion"
  | "secretsCheck"
  | "resealSecrets"
>;

/** Subscriptions. */
export function denoKvSubscriptions({ kv, location, run, retry }: DenoKvContext): SubscriptionMethods {
  return {
    insertSubscription: (subscription, maxPerKey) =>
      run(() =>
        retry(async () => {
          const { id, keyId } = subscription;
          const [count, held] = await kv.getMany<[number, Subscription]>([
            subscriptionCountKey(keyId),
            subscriptionKey(id),
          ]);
          if ((count.value ?? 0) >= maxPerKey) {
            throw new StoreError("exists", `${location}: the key "${keyId}" has ${maxPerKey} subscriptions already`);
          }
          if (held.value) {
            throw new StoreError("exists", `${location} holds a subscription with the id "${id}" already`);
          }
          const atomic = kv.atomic().check(count, held).sum(SUBSCRIPTIONS_VERSION, 1n)
            .set(count.key, (count.value ?? 0) + 1)
            .set(subscriptionKey(id), present(subscription))
            .set(subscriptionOfKey(keyId, id), true);
          return await commit(atomic) ? { done: undefined } : undefined;
        })
      ),
    getSubscription: (id) => run(async () => (await kv.get<Subscription>(subscriptionKey(id))).value ?? undefined),
    listSubscriptions: ({ keyId, after = "", limit }) =>
      run(async () => {
        checkLimit(limit, 1_000);
        if (keyId !== undefined) return await listOfKey(kv, keyId, after, limit);
        const range = { prefix: ["subscription"], start: subscriptionKey(next(after)) };
        return (await collect(kv.list<Subscription>(range, { limit }))).map(({ value }) => value);
      }),
    setSubscriptionSecrets: (id, expectedSecret, { secret, previousSecret, olderSecret }) =>
      run(() =>
        retry(async () => {
          const entry = await kv.get<Subscription>(subscriptionKey(id));
          if (entry.value?.secret !== expectedSecret) return { done: false };
          const atomic = kv.atomic().check(entry).sum(SUBSCRIPTIONS_VERSION, 1n)
            .set(entry.key, present({ ...entry.value, secret, previousSecret, olderSecret }));
          return await commit(atomic) ? { done: true } : undefined;
        })
      ),
    deleteSubscription: (id) =>
      run(() =>
        retry(async () => {
          const removal = await startRemoval(kv);
          const { value } = await kv.get<Subscription>(subscriptionKey(id));
          if (value === null) return { done: false };
          await removal.remove([value]);
          return await commit(removal.atomic) ? { done: true } : undefined;
        })
      ),
    subscriptionsVersion: () =>
      run(async () => Number((await kv.get<KvU64>(SUBSCRIPTIONS_VERSION)).value?.value ?? 0n)),
    secretsCheck: () => run(async () => (await kv.get<string>(SECRETS_CHECK)).value ?? undefined),
    resealSecrets: ({ secrets, check }) =>
      run(() => {
        checkBatch(secrets, 100);
        return retry(async () => {
          const version = await kv.get(SUBSCRIPTIONS_VERSION);
          const held = await getAll<Subscription>(kv, secrets.map(({ id }) => subscriptionKey(id)));
          const atomic = kv.atomic().check(version);
          let rewritten = 0;
          held.forEach(({ key, value }, index) => {
            const { expectedSecret, secret, previousSecret, olderSecret } = secrets[index]!;
            if (value?.secret !== expectedSecret) return;
            atomic.set(key, present({ ...value, secret, previousSecret, olderSecret }));
            rewritten += 1;
          });
          if (rewritten > 0) atomic.sum(SUBSCRIPTIONS_VERSION, 1n);
          if (check === null) atomic.delete(SECRETS_CHECK);
          else if (check !== undefined) atomic.set(SECRETS_CHECK, check);
          return await commit(atomic) ? { done: rewritten } : undefined;
        });
      }),
  };
}

/** The subscriptions of one key, ascending by id. */
export async function listOfKey(kv: Kv, keyId: string, after: string, limit: number): Promise<Subscription[]> {
  const range = { prefix: ["subscription_by_key", keyId], start: subscriptionOfKey(keyId, next(after)) };
  const ids = (await collect(kv.list(range, { limit }))).map(({ key }) => key[2] as string);
  const held = await getAll<Subscription>(kv, ids.map(subscriptionKey));
  return held.map(({ value }) => value).filter((subscription) => subscription !== null);
}

/**
 * Begins a commit that removes subscriptions, before they are read: it comes to nothing when a subscription or a replay
 * was added or changed in between. What they leave behind is noted for `purgeDeleted`.
 */
export async function startRemoval(
  kv: Kv,
): Promise<{ atomic: KvAtomic; /** At most 100, of one key. */ remove(subscriptions: Subscription[]): Promise<void> }> {
  const atomic = kv.atomic().check(...await kv.getMany([SUBSCRIPTIONS_VERSION, REPLAYS_VERSION]));
  return {
    atomic,
    async remove(subscriptions) {
      const [first] = subscriptions;
      if (!first) return;
      const count = await kv.get<number>(subscriptionCountKey(first.keyId));
      const replayIds = await getAll<string>(kv, subscriptions.map(({ id }) => replayOfKey(id)));
      const replays = await getAll<Replay>(
        kv,
        replayIds.flatMap(({ value }) => value === null ? [] : [replayKey(value)]),
      );
      for (const { id, keyId } of subscriptions) {
        for (const key of [subscriptionKey(id), subscriptionOfKey(keyId, id), leaseKey(id)]) atomic.delete(key);
        atomic.delete(pendingKey(id)).delete(deadKey(id)).set(deletedKey(id), true);
      }
      for (const { value } of replays) if (value) removeReplay(atomic, value);
      const left = (count.value ?? 0) - subscriptions.length;
      if (left > 0) atomic.set(count.key, left);
      else atomic.delete(count.key);
      atomic.sum(SUBSCRIPTIONS_VERSION, BigInt(subscriptions.length));
    },
  };
}

/** Removes a replay with what leads to it. */
export function removeReplay(atomic: KvAtomic, { id, subscriptionId, createdAtMs }: Replay): void {
  atomic.delete(replayKey(id)).delete(replayOfKey(subscriptionId)).delete(replayTimeKey(createdAtMs, id));
}

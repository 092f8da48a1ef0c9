import type { Kv, KvAtomic, KvEntryMaybe, KvKey, KvU64 } from "../../runtime/kv.ts";
import type { NounDriver } from "../checked_store.ts";
import { putIntent } from "./intents.ts";
import { StoreError, type SubscriptionStore } from "../store.ts";
import type { Subscription } from "../webhook.ts";
import { collect, commit, type DenoKvContext, getAll, next, present } from "./database.ts";
import {
  type ConsumerEntry,
  consumerKey,
  deletedKey,
  failedKey,
  LOG,
  type LogEntry,
  READERS_VERSION,
  SECRETS_CHECK,
  subscriptionCountKey,
  subscriptionKey,
  subscriptionOfKey,
  SUBSCRIPTIONS_VERSION,
} from "./schema.ts";

/** Rows of each kind that `purgeDeleted` reads. It removes two entries for a failed delivery, and one for others. */
const PURGED_OF_A_KIND = 150;

/** Subscriptions. */
export function denoKvSubscriptions(context: DenoKvContext): NounDriver<SubscriptionStore> {
  const { kv, location, retry } = context;

  /** Removes some entries of a deleted subscription. True while there may be more. */
  async function purgeSome(deleted: KvEntryMaybe<unknown>): Promise<boolean> {
    const id = deleted.key[1] as string;
    const atomic = kv.atomic().check(deleted);
    const [failed, due, attempts] = await Promise.all(
      ["failed_of", "due", "attempt"].map(async (kind) => {
        const rows = await collect(kv.list({ prefix: [kind, id] }, { limit: PURGED_OF_A_KIND, batchSize: 500 }));
        for (const { key } of rows) atomic.delete(key);
        return rows.map(({ key }) => key);
      }),
    ) as [KvKey[], KvKey[], KvKey[]];
    for (const key of failed) atomic.delete(failedKey(key.at(-1) as number, id));
    const isEmpty = [failed, due, attempts].every(({ length }) => length < PURGED_OF_A_KIND);
    if (isEmpty) atomic.delete(deleted.key);
    await commit(atomic);
    return !isEmpty;
  }

  return {
    insert: (subscription, maxPerKey, intent) =>
      retry(async () => {
        const { id, keyId } = subscription;
        const [count, stored, log, deleted] = await kv.getMany<[number, Subscription, LogEntry, true]>([
          subscriptionCountKey(keyId),
          subscriptionKey(id),
          LOG,
          deletedKey(id),
        ]);
        const atomic = kv.atomic();
        const verdict = intent === undefined ? "written" : await putIntent(context, atomic, intent);
        if (verdict !== "written") return { done: verdict };
        if (deleted.value !== null) {
          // Entries of a former subscription with this id would count as its own.
          while (await purgeSome(deleted));
          return undefined;
        }
        if ((count.value ?? 0) >= maxPerKey) {
          throw new StoreError("exists", `${location}: the key "${keyId}" has ${maxPerKey} subscriptions already`);
        }
        if (stored.value) {
          throw new StoreError("exists", `${location} holds a subscription with the id "${id}" already`);
        }
        atomic.check(count, stored, log, deleted)
          .sum(SUBSCRIPTIONS_VERSION, 1n)
          .set(count.key, (count.value ?? 0) + 1)
          .set(subscriptionKey(id), present(subscription))
          .set(subscriptionOfKey(keyId, id), true)
          .set(consumerKey(id), newConsumer(log.value?.last ?? 0));
        return await commit(atomic) ? { done: verdict } : undefined;
      }),
    get: async (id) => (await kv.get<Subscription>(subscriptionKey(id))).value ?? undefined,
    async list({ keyId, after = "", limit }) {
      if (keyId !== undefined) return await listOfKey({ kv, retry }, keyId, after, limit);
      const range = { prefix: ["subscription"], start: subscriptionKey(next(after)) };
      return (await collect(kv.list<Subscription>(range, { limit, batchSize: 500 }))).map(({ value }) => value);
    },
    delete: (id) =>
      retry(async () => {
        const removal = await startRemoval(kv);
        const { value } = await kv.get<Subscription>(subscriptionKey(id));
        if (value === null) return { done: false };
        await removal.remove([value]);
        return await commit(removal.atomic) ? { done: true } : undefined;
      }),
    async purgeDeleted() {
      const [first, second] = await collect(kv.list({ prefix: ["deleted_subscription"] }, { limit: 2 }));
      if (first === undefined) return false;
      return await purgeSome(first) || second !== undefined;
    },
    version: async () => Number((await kv.get<KvU64>(SUBSCRIPTIONS_VERSION)).value?.value ?? 0n),
    secretsCheck: async () => (await kv.get<string>(SECRETS_CHECK)).value ?? undefined,
    setSecrets: ({ secrets, check }) =>
      retry(async () => {
        const version = await kv.get(SUBSCRIPTIONS_VERSION);
        const stored = await getAll<Subscription>(kv, secrets.map(({ id }) => subscriptionKey(id)));
        const atomic = kv.atomic().check(version);
        let rewritten = 0;
        stored.forEach(({ key, value }, index) => {
          const { expectedSecret, secret, previousSecret, olderSecret } = secrets[index]!;
          if (value?.secret !== expectedSecret) return;
          atomic.set(key, present({ ...value, secret, previousSecret, olderSecret }));
          rewritten += 1;
        });
        if (rewritten > 0) atomic.sum(SUBSCRIPTIONS_VERSION, 1n);
        if (check === null) atomic.delete(SECRETS_CHECK);
        else if (check !== undefined) atomic.set(SECRETS_CHECK, check);
        return await commit(atomic) ? { done: rewritten } : undefined;
      }),
  };
}

/** The consumer of a new subscription, with its cursor here. */
function newConsumer(cursor: number): ConsumerEntry {
  return {
    progress: { cursor, failingSinceMs: null, retrying: 0, rejected: 0, dead: 0, nextDueAtMs: null },
    replay: null,
    kept: { rejected: 0, dead: 0 },
    ordinal: 0,
    attemptsSinceMs: null,
  };
}

/** The subscriptions of one key, ascending by id. */
export async function listOfKey(
  { kv, retry }: Pick<DenoKvContext, "kv" | "retry">,
  keyId: string,
  after: string,
  limit: number,
): Promise<Subscription[]> {
  const range = { prefix: ["subscription_by_key", keyId], start: subscriptionOfKey(keyId, next(after)) };
  return await retry(async () => {
    const ids = (await collect(kv.list(range, { limit, batchSize: 500 }))).map(({ key }) => key[2] as string);
    const stored = (await getAll<Subscription>(kv, ids.map(subscriptionKey))).map(({ value }) => value);
    // A subscription that was deleted just now is missing, and the page would look like the last one. So the read repeats.
    return stored.every((subscription) => subscription !== null) ? { done: stored } : undefined;
  });
}

/**
 * Begins a commit that removes subscriptions, before they are read. The commit fails when one was added or changed in between.
 * It marks them for `purgeDeleted`.
 */
export async function startRemoval(
  kv: Kv,
): Promise<{ atomic: KvAtomic; /** At most 100, of one key. */ remove(subscriptions: Subscription[]): Promise<void> }> {
  const atomic = kv.atomic().check(await kv.get(SUBSCRIPTIONS_VERSION));
  return {
    atomic,
    async remove(subscriptions) {
      const [first] = subscriptions;
      if (!first) return;
      const count = await kv.get<number>(subscriptionCountKey(first.keyId));
      for (const { id, keyId } of subscriptions) {
        atomic.delete(subscriptionKey(id)).delete(subscriptionOfKey(keyId, id)).delete(consumerKey(id));
        atomic.set(deletedKey(id), true);
      }
      const left = (count.value ?? 0) - subscriptions.length;
      if (left > 0) atomic.set(count.key, left);
      else atomic.delete(count.key);
      atomic.sum(SUBSCRIPTIONS_VERSION, BigInt(subscriptions.length)).sum(READERS_VERSION, 1n);
    },
  };
}

import type { Kv, KvAtomic } from "../runtime/kv.ts";
import { commit, getAll, MAX_MUTATIONS } from "./deno_kv_io.ts";
import { SUBSCRIPTIONS_VERSION, subscriptionKey } from "./deno_kv_subscriptions.ts";
import type { Delivery } from "./webhook_store.ts";

/** A delivery as it is kept under its id. */
export type DeliveryEntry = Pick<Delivery, "position" | "attempts" | "dueAtMs" | "createdAtMs">;

/** Where a delivery is kept, pending or dead. */
export const deliveryKey = (subscriptionId: string, id: string) => ["delivery", subscriptionId, id];
/** Where pending ones are listed beside: in the order they are due in, and in that of their creation. */
export const dueKey = (subscriptionId: string, dueAtMs: number, position: string, id: string) => [
  "due",
  subscriptionId,
  dueAtMs,
  position,
  id,
];
export const creationKey = (subscriptionId: string, createdAtMs: number, id: string) => [
  "pending_by_creation",
  subscriptionId,
  createdAtMs,
  id,
];
/** Counters of what is pending, and what is dead, of a subscription. */
export const pendingKey = (subscriptionId: string) => ["pending", subscriptionId];
export const deadKey = (subscriptionId: string) => ["dead", subscriptionId];
/** Deliveries that were made of an event in one commit, `OwedEntry`: nobody takes an event away from those still there. */
export const owedKey = (position: string, firstId: string) => ["owed", position, firstId];
export type OwedEntry = { subscriptionId: string; id: string }[];
/**
 * Says that a subscription may have something to deliver from this time on. Whoever adds deliveries adds such a key
 * without looking; couriers look, and remove what was said too early or twice.
 */
export const wakeKey = (atMs: number, subscriptionId: string) => ["wake", atMs, subscriptionId];

type Write = (atomic: KvAtomic) => unknown;

/** Adds deliveries together with `own`, which holds the checks and writes of whoever adds them. */
export type AddDeliveries = (deliveries: Delivery[], own: () => KvAtomic) => Promise<boolean>;

/**
 * Adds deliveries, passing over ids that are there already and deleted subscriptions; false when a check failed.
 *
 * @param own makes the checks and at most ten writes of whoever adds them. What a commit has no room for is committed
 * before it, under the same checks, and is not seen until the deliveries are listed as due.
 */
export async function addDeliveries(kv: Kv, deliveries: Delivery[], own: () => KvAtomic): Promise<boolean> {
  const version = await kv.get(SUBSCRIPTIONS_VERSION);
  const added = await onlyNew(kv, await onlyOwned(kv, deliveries));
  const checked = () => own().check(version);
  const unseen = [...added.map(recordOf), ...owedGroups(added)];
  const seen = listings(added);
  const atomic = checked();
  if (unseen.length + seen.length + OWN_WRITES <= MAX_MUTATIONS) {
    for (const write of unseen) write(atomic);
  } else {
    // The caller's writes belong to the last commit.
    const early = kv.atomic().check(version);
    for (const write of unseen) write(early);
    if (!await commit(early)) return false;
  }
  for (const write of seen) write(atomic);
  return await commit(atomic);
}

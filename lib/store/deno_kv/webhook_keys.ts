import type { KvKey } from "../../runtime/kv.ts";
import type { Delivery } from "../webhook_store.ts";

/**
 * Where Deno KV keeps what webhooks need, and what is written there. The keys of one commit may have 80 KiB: with ids of
 * some 25 characters, and deliveries' of some 90, what has to be one commit fits.
 */

/** `Subscription`. */
export const subscriptionKey = (id: string): KvKey => ["subscription", id];
export const subscriptionOfKey = (keyId: string, id: string): KvKey => ["subscription_by_key", keyId, id];
/** How many a key has: checked, so that two inserts at once don't pass the bound. */
export const subscriptionCountKey = (keyId: string): KvKey => ["subscription_count", keyId];
/** Raised by every change of a subscription: one check of it stands for a check of each. */
export const SUBSCRIPTIONS_VERSION: KvKey = ["subscriptions_version"];
/** `true`, from its deletion until nothing of it is left. */
export const deletedKey = (subscriptionId: string): KvKey => ["deleted_subscription", subscriptionId];

/** A delivery, pending or dead. */
export type DeliveryEntry = Pick<Delivery, "position" | "attempts" | "dueAtMs" | "createdAtMs">;
export const deliveryKey = (subscriptionId: string, id: string): KvKey => ["delivery", subscriptionId, id];
/** A pending delivery in the order of due times: `DueEntry`. */
export const dueKey = (subscriptionId: string, { dueAtMs, position }: DeliveryEntry, id: string): KvKey => [
  "due",
  subscriptionId,
  dueAtMs!,
  position,
  id,
];
export type DueEntry = Pick<Delivery, "attempts" | "createdAtMs">;
/** A pending delivery in the order of creation. */
export const creationKey = (subscriptionId: string, { createdAtMs }: DeliveryEntry, id: string): KvKey => [
  "created",
  subscriptionId,
  createdAtMs,
  id,
];
/** Counters. */
export const pendingKey = (subscriptionId: string): KvKey => ["pending", subscriptionId];
export const deadKey = (subscriptionId: string): KvKey => ["dead", subscriptionId];
/** The deliveries that one commit made of an event: while one of them is there, the event is needed. */
export type OwedEntry = { subscriptionId: string; id: string }[];
export const owedKey = (position: string, firstId: string): KvKey => ["owed", position, firstId];

/** Who may deliver, and until when nobody else may. Once there it stays, so that its version tells every change. */
export interface LeaseEntry {
  /** Null: given back, or held back. */
  token: string | null;
  untilMs: number;
}
export const leaseKey = (subscriptionId: string): KvKey => ["lease", subscriptionId];
/**
 * Says that a subscription may have something to deliver from this time on. Whoever adds deliveries writes it without
 * looking what is there; couriers look, and remove what was said twice or too early.
 */
export const wakeKey = (atMs: number, subscriptionId: string): KvKey => ["wake", atMs, subscriptionId];

/** `Attempt`. */
export const attemptKey = (subscriptionId: string, id: string): KvKey => ["attempt", subscriptionId, id];
export const attemptTimeKey = (atMs: number, subscriptionId: string, id: string): KvKey => [
  "attempt_by_time",
  atMs,
  subscriptionId,
  id,
];

/** `Replay`. */
export const replayKey = (id: string): KvKey => ["replay", id];
/** The id of the one a subscription has. */
export const replayOfKey = (subscriptionId: string): KvKey => ["replay_of", subscriptionId];
export const replayTimeKey = (createdAtMs: number, id: string): KvKey => ["replay_by_time", createdAtMs, id];
/** Raised with every new replay: events that it needs must not be forgotten meanwhile. */
export const REPLAYS_VERSION: KvKey = ["replays_version"];

/** `FanOutCursor`. */
export const FAN_OUT: KvKey = ["fan_out"];
/** An event that became known behind that cursor: the last subscription that got it, "" when none has. */
export const lateKey = (position: string): KvKey => ["late", position];
/** Written with every step through late events: one check of it stands for a check of each. */
export const LATE_STEP: KvKey = ["late_step"];
/** Position of the last event that was forgotten; "" while only dead deliveries were. */
export const PRUNED: KvKey = ["pruned"];
export const SECRETS_CHECK: KvKey = ["secrets_check"];

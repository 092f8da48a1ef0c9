import type { Clock } from "../clock.ts";
import { GatewayError } from "../errors.ts";
import { type CreationIntent, IntentRefused } from "../store/intent.ts";
import { type Store, StoreError } from "../store/store.ts";
import type { Subscription } from "../store/webhook.ts";
import type { SubscriptionWithSecret } from "./secrets/rotation.ts";
import type { SecretCipher } from "./secrets/secrets.ts";
import type { TargetPolicy } from "./targets/policy.ts";

export interface NewSubscription {
  url: string;
  /** Only these event types; all when absent. */
  types?: string[];
  deviceHash?: string;
  merchant?: string;
  /** Strictly one delivery at a time; false when absent. */
  ordered?: boolean;
}

export interface CreationParts {
  store: Pick<Store, "subscriptions" | "events">;
  targets: Pick<TargetPolicy, "check">;
  secrets: SecretCipher;
  createSecret(): string;
  /** Random letters and digits. */
  randomText(length: number): string;
  /** Whether the key still exists. */
  isKeyThere(keyId: string): Promise<boolean>;
  /** The height after the end of the log. Rejects with `upstream_error` before the first ledger. */
  startHeight(): Promise<number>;
  clock: Clock;
}

export const MAX_SUBSCRIPTIONS_PER_KEY = 100;
/** Length of an id after its prefix. */
export const ID_LENGTH = 22;

/** A subscription of this key with its current secret; undefined when there is none. */
export async function withSecret(
  { store, secrets }: Pick<CreationParts, "store" | "secrets">,
  keyId: string,
  id: string,
): Promise<SubscriptionWithSecret | undefined> {
  const subscription = await store.subscriptions.get(id);
  if (subscription?.keyId !== keyId) return undefined;
  return { ...subscription, plainSecret: secrets.open(id, subscription.secret) };
}

/**
 * Creates a subscription, and in the same commit its intent.
 * @throws {GatewayError} `invalid_request` for a refused target, and when the key has its maximum; `unauthorized` when
 * it was deleted meanwhile
 * @throws {IntentRefused} when the intent exists already, or there are too many
 */
export async function createSubscription(
  parts: CreationParts,
  keyId: string,
  { url, types, deviceHash, merchant, ordered }: NewSubscription,
  intent?: CreationIntent,
): Promise<SubscriptionWithSecret> {
  const { store, targets, secrets, clock } = parts;
  const id = `wh_${parts.randomText(ID_LENGTH)}`;
  await targets.check(url);
  const plainSecret = parts.createSecret();
  const subscription: Subscription = {
    id,
    keyId,
    url,
    types: types === undefined ? null : [...new Set(types)],
    deviceHash: deviceHash ?? null,
    merchant: merchant ?? null,
    ordered: ordered ?? false,
    secret: secrets.seal(id, plainSecret),
    previousSecret: null,
    createdAt: new Date(clock.now()).toISOString(),
    startHeight: await parts.startHeight(),
  };
  const added = await add(parts, subscription, intent) ?? { ...subscription, plainSecret };
  // Deleting a key deletes its webhooks, but not one that is added meanwhile.
  if (await parts.isKeyThere(keyId).catch(() => true)) return added;
  await store.subscriptions.delete(id);
  throw new GatewayError("unauthorized", "this API key was deleted meanwhile");
}

/** Undefined when it was added. Else the one of a commit whose answer was lost. */
async function add(
  parts: CreationParts,
  subscription: Subscription,
  intent: CreationIntent | undefined,
): Promise<SubscriptionWithSecret | undefined> {
  const { id, keyId } = subscription;
  try {
    IntentRefused.check(await parts.store.subscriptions.insert(subscription, MAX_SUBSCRIPTIONS_PER_KEY, intent?.(id)));
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const isFull = error.kind === "exists";
    const there = await withSecret(parts, keyId, id).catch((cause) => {
      throw isFull ? cause : error;
    });
    if (there !== undefined) return there;
    if (!isFull) throw error;
    const message = `this API key has ${MAX_SUBSCRIPTIONS_PER_KEY} webhooks, its limit; delete one first`;
    throw new GatewayError("invalid_request", message);
  }
}

import type { Clock } from "../clock.ts";
import { GatewayError } from "../errors.ts";
import type { IntentClaim } from "../store/intent.ts";
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
 * Creates a subscription. With the claim of an intent it gets the intent's id, and one that exists already is returned.
 * @throws {GatewayError} `invalid_request` for a refused target, and when the key has its maximum; `unauthorized` when
 * it was deleted meanwhile
 * @throws {StoreError} `fenced` when another request has claimed the intent since
 */
export async function createSubscription(
  parts: CreationParts,
  keyId: string,
  { url, types, deviceHash, merchant, ordered }: NewSubscription,
  claim?: IntentClaim,
): Promise<SubscriptionWithSecret> {
  const { store, targets, secrets, clock } = parts;
  const id = `wh_${claim?.id ?? parts.randomText(ID_LENGTH)}`;
  // Before the target check: a refused intent is deleted, and this one may have been created before a crash.
  const before = claim && await withSecret(parts, keyId, id);
  if (before !== undefined) return before;
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
  const added = await add(parts, subscription, claim) ?? { ...subscription, plainSecret };
  // Deleting a key deletes its webhooks, but not one that is added meanwhile.
  if (await parts.isKeyThere(keyId).catch(() => true)) return added;
  await store.subscriptions.delete(id);
  throw new GatewayError("unauthorized", "this API key was deleted meanwhile");
}

/** Undefined when it was added. Else the existing one, of another request or of a commit whose answer was lost. */
async function add(
  parts: CreationParts,
  subscription: Subscription,
  claim: IntentClaim | undefined,
): Promise<SubscriptionWithSecret | undefined> {
  const { id, keyId } = subscription;
  try {
    await parts.store.subscriptions.insert(subscription, MAX_SUBSCRIPTIONS_PER_KEY, claim);
  } catch (error) {
    if (!(error instanceof StoreError) || error.kind === "fenced") throw error;
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

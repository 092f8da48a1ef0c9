import type { Wait } from "../../clock.ts";
import type { Store } from "../../store/store.ts";
import type { Subscription } from "../../store/webhook_store.ts";
import { VET_MS } from "../delivery/lane.ts";
import type { SecretBox } from "./secrets.ts";

/** A subscription with the secret that signs what it gets: shown at its creation and at a rotation. */
export type SubscriptionWithSecret = Subscription & { plainSecret: string };

export interface RotationParts {
  store: Pick<Store, "setSubscriptionSecrets">;
  secrets: SecretBox;
  createSecret(): string;
  /** Unix milliseconds. */
  now(): number;
  wait: Wait;
}

/** How long the secret before a rotation signs too. */
const ROTATION_MS = 86_400_000;

/**
 * Gives a subscription a new secret; the one before signs too for a day, and so does the oldest that did until now.
 * Undefined, and nothing changed, when it is gone or its secret is not the one given any more.
 */
export async function rotateSecret(
  { store, secrets, createSecret, now, wait }: RotationParts,
  subscription: Subscription,
): Promise<SubscriptionWithSecret | undefined> {
  const { id, secret, previousSecret } = subscription;
  const plainSecret = createSecret();
  // Rotated again within the day, its receiver may have any of the secrets before: most likely the last one, or the
  // first when the answers in between were lost.
  const olderSecret = [subscription.olderSecret, previousSecret ?? undefined]
    .find((former) => former !== undefined && former.untilMs > now());
  const rotated = {
    secret: secrets.seal(id, plainSecret),
    previousSecret: { secret, untilMs: now() + ROTATION_MS },
    olderSecret,
  };
  if (!await store.setSubscriptionSecrets(id, secret, rotated)) return undefined;
  // Until then couriers may sign with the old secret alone: whoever is told the new one may rely on it.
  await wait(VET_MS);
  return { ...subscription, ...rotated, plainSecret };
}

import type { Wait } from "../../clock.ts";
import { GatewayError } from "../../errors.ts";
import type { Store } from "../../store/store.ts";
import type { Subscription } from "../../store/webhook.ts";
import { HEEDED_MS } from "../delivery/eligibility.ts";
import type { SecretCipher } from "./secrets.ts";

/** A subscription with the secret that signs what it gets: shown at its creation and at a rotation. */
export type SubscriptionWithSecret = Subscription & { plainSecret: string };

export interface RotationParts {
  store: Pick<Store, "subscriptions">;
  secrets: SecretCipher;
  createSecret(): string;
  /** Unix milliseconds. */
  now(): number;
  wait: Wait;
}

/** How long the secret before a rotation signs too. */
const ROTATION_MS = 86_400_000;
/** Whoever asks again so soon has not heard the answer. */
const AGAIN_MS = 30_000;

/**
 * Whether what was signed at this time (Unix ms) may have been signed with others than sign now: the secret was rotated
 * later, or so shortly before that a worker need not have known.
 */
export function isRotatedSince({ previousSecret }: Pick<Subscription, "previousSecret">, atMs: number): boolean {
  return previousSecret !== null && previousSecret.untilMs - ROTATION_MS + HEEDED_MS > atMs;
}

/**
 * Gives a subscription a new secret; the one before signs too for a day. One that was made just now is told again: its answer
 * may be lost, or its gateway have died, and of secrets that nobody knows two would be in the way of a third. Undefined, and nothing changed, when it is gone or
 * its secret is not the one given any more.
 * @throws {GatewayError} `invalid_request` while two former secrets sign: a third would silence one that was promised a day
 */
export async function rotateSecret(
  { store, secrets, createSecret, now, wait }: RotationParts,
  subscription: Subscription,
): Promise<SubscriptionWithSecret | undefined> {
  const { id, secret } = subscription;
  const ageMs = now() - ((subscription.previousSecret?.untilMs ?? 0) - ROTATION_MS);
  if (ageMs >= 0 && ageMs < AGAIN_MS) {
    await wait(Math.max(0, HEEDED_MS - ageMs));
    return { ...subscription, plainSecret: secrets.open(id, secret) };
  }
  const signing = [subscription.previousSecret, subscription.olderSecret]
    .filter((former) => former && former.untilMs > now());
  if (signing.length > 1) {
    const freeAt = new Date(Math.min(...signing.map((former) => former!.untilMs))).toISOString();
    throw new GatewayError(
      "invalid_request",
      `two former secrets of ${id} sign still; the next rotation can be made after ${freeAt}`,
      { retry: "same" },
    );
  }
  const plainSecret = createSecret();
  const rotated = {
    secret: secrets.seal(id, plainSecret),
    previousSecret: { secret, untilMs: now() + ROTATION_MS },
    olderSecret: signing[0] ?? undefined,
  };
  if (!await replaced()) return undefined;
  // Until then workers may sign with the old secret alone: whoever is told the new one may rely on it.
  await wait(HEEDED_MS);
  return { ...subscription, ...rotated, plainSecret };

  /** Where the answer alone was lost the new secret signs, and nobody else can tell it. */
  async function replaced(): Promise<boolean> {
    try {
      return await store.subscriptions.setSecrets({ secrets: [{ ...rotated, id, expectedSecret: secret }] }) > 0;
    } catch (error) {
      const kept = await store.subscriptions.get(id).catch(() => undefined);
      if (kept?.secret !== rotated.secret) throw error;
      return true;
    }
  }
}

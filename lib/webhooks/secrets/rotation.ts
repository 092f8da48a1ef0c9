import type { Wait } from "../../clock.ts";
import { GatewayError } from "../../errors.ts";
import type { Store } from "../../store/store.ts";
import type { Subscription } from "../../store/webhook.ts";
import { HEEDED_MS } from "../delivery/eligibility.ts";
import type { SecretCipher } from "./secrets.ts";

/** A subscription with its current secret, returned at creation and rotation. */
export type SubscriptionWithSecret = Subscription & { plainSecret: string };

/** How long a former secret stays valid. */
const ROTATION_MS = 86_400_000;
/** A client that rotates again this soon has not received the answer. */
const AGAIN_MS = 30_000;

/**
 * Whether a signature of this time (Unix ms) may be of other secrets than the current ones. The secret was rotated
 * later, or so shortly before that a worker may not have known.
 */
export function isRotatedSince({ previousSecret }: Pick<Subscription, "previousSecret">, atMs: number): boolean {
  return previousSecret !== null && previousSecret.untilMs - ROTATION_MS + HEEDED_MS > atMs;
}

/**
 * Creates a new secret; the former one stays valid for a day. A repeated call soon after returns the same new secret.
 * Its answer may be lost, and two secrets that no client knows would block a third. Undefined, without a change, when
 * it is deleted or its secret has changed.
 * @throws {GatewayError} `invalid_request` while two former secrets are valid: a third would end one before its day
 */
export async function rotateSecret(
  { store, secrets, createSecret, now, wait }: {
    store: Pick<Store, "subscriptions">;
    secrets: SecretCipher;
    createSecret(): string;
    /** Unix milliseconds. */
    now(): number;
    wait: Wait;
  },
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
      `two former secrets of ${id} are still valid; rotate again after ${freeAt}`,
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
  // Until then workers may sign with the former secret alone. After the answer the client may rely on the new one.
  await wait(HEEDED_MS);
  return { ...subscription, ...rotated, plainSecret };

  /** After a lost answer the new secret is in use, and only this call knows it. */
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

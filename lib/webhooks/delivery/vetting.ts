import type { Clock } from "../../clock.ts";
import type { Subscription } from "../../store/webhook.ts";
import type { Recipient } from "./attempt.ts";
import type { DeliveryReader } from "./reader.ts";

export interface VettingParts {
  /** Whether the key is there, enabled, not expired and has the scope `webhooks`: the deliveries of others are held back. */
  isKeyEnabled(keyId: string): Promise<boolean>;
  /** Takes in what has become of subscriptions, and closes the readers of those that are gone. */
  refresh(): Promise<void>;
  /** The subscription with its secrets opened. */
  recipient(subscription: Subscription): Recipient;
  /** Of a store that several gateways share, whose own clocks may differ, the store's (`openStoreClock`). */
  clock: Clock;
  /** Told of what goes wrong on this side: no secret and no URL in it. */
  onProblem(message: string, cause?: unknown): void;
}

/** Looks whether a subscription may be posted to, and with which secrets: nothing is posted without. */
export interface Vetting {
  /** Whether that was looked at lately. */
  isFresh(reader: DeliveryReader, nowAt: number): boolean;
  /** Looks at it; where nothing may be posted, the reader's `notBeforeAt` says for how long. Rejects when the store fails. */
  look(reader: DeliveryReader): Promise<void>;
}

/** Subscription and key are looked at again after so long: a disabled key is heeded within this time. */
const VET_MS = 1_000;
/** Who is looked at is as the store had it no longer ago than this: it is loaded once a second where nothing is slow. */
export const REFRESH_MS = 2_000;
/** Nothing is posted to a subscription, or signed for it, as it was longer ago than this. */
export const HEEDED_MS: number = REFRESH_MS + VET_MS;
/** The deliveries of a disabled key are held back for so long at a time. */
const HOLD_BACK_MS = 2_000;
/** Those whose secret can't be opened. */
const SEALED_MS = 5_000;

export function createVetting(parts: VettingParts): Vetting {
  const { clock, onProblem } = parts;

  /** Opens the secrets, anew when one of them signs no more; false when they can't be opened. */
  function open(reader: DeliveryReader): boolean {
    if (reader.recipient !== undefined && clock.now() < reader.recipientUntilMs) return true;
    const { subscription } = reader;
    try {
      reader.recipient = parts.recipient(subscription);
    } catch (cause) {
      onProblem(`the secret of ${subscription.id} cannot be opened: its deliveries are held back`, cause);
      return false;
    }
    const { previousSecret, olderSecret } = subscription;
    const ends = [previousSecret, olderSecret].flatMap((former) => former?.untilMs ?? []);
    reader.recipientUntilMs = Math.min(Infinity, ...ends.filter((endMs) => endMs > clock.now()));
    return true;
  }

  return {
    isFresh: ({ recipient, vettedAt }, nowAt) => recipient !== undefined && nowAt - vettedAt < VET_MS,
    async look(reader) {
      const vettedAt = clock.monotonicMs();
      await parts.refresh();
      if (reader.isClosed) return;
      const isEnabled = await parts.isKeyEnabled(reader.subscription.keyId);
      reader.isHeldBack = !isEnabled || !open(reader);
      if (!isEnabled) {
        reader.notBeforeAt = Math.max(reader.notBeforeAt, vettedAt + HOLD_BACK_MS);
        // When it is enabled again nobody knows how the endpoint does: what has waited is not given up before it was asked.
        reader.isKnownToFail = false;
      } else if (reader.isHeldBack) {
        reader.notBeforeAt = vettedAt + SEALED_MS;
      } else {
        reader.vettedAt = vettedAt;
      }
    },
  };
}

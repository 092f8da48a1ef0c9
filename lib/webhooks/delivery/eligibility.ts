import type { Clock } from "../../clock.ts";
import type { Subscription } from "../../store/webhook.ts";
import type { Recipient } from "./attempt.ts";
import type { Consumer } from "./consumer.ts";
import { unasked } from "./endpoint.ts";

export interface EligibilityParts {
  /** Whether the key is there, enabled, not expired and has the scope `webhooks`: the deliveries of others are held back. */
  isKeyEnabled(keyId: string): Promise<boolean>;
  /** Loads what has become of subscriptions, and closes the consumers of those that are gone. */
  refresh(): Promise<void>;
  /** The subscription with its secrets opened. */
  recipient(subscription: Subscription): Recipient;
  /** Of a store that several gateways share, whose own clocks may differ, the store's (`openStoreClock`). */
  clock: Clock;
  /** Reports what goes wrong on this side: no secret and no URL in it. */
  onProblem(message: string, cause?: unknown): void;
}

/** Checks whether a subscription may be posted to, and with which secrets: nothing is posted without. */
export interface Eligibility {
  /** Whether that was checked lately. */
  isFresh(consumer: Consumer, nowAt: number): boolean;
  /** Checks it; where nothing may be posted, `notBeforeAt` says for how long. Rejects when the store fails. */
  check(consumer: Consumer): Promise<void>;
}

/** Subscription and key are checked again after so long: a disabled key is heeded within this time. */
const CHECK_MS = 1_000;
/** What is checked is as the store had it no longer ago than this: it is loaded once a second where nothing is slow. */
export const REFRESH_MS = 2_000;
/** Nothing is posted to a subscription, or signed for it, as it was longer ago than this. */
export const HEEDED_MS: number = REFRESH_MS + CHECK_MS;
/** The deliveries of a disabled key are held back for so long at a time. */
const HOLD_BACK_MS = 2_000;
/** Those whose secret can't be opened. */
const SEALED_MS = 5_000;

export function createEligibility(parts: EligibilityParts): Eligibility {
  const { clock, onProblem } = parts;

  /** Opens the secrets, anew when one of them signs no more; false when they can't be opened. */
  function open({ subscription, eligibility }: Consumer): boolean {
    if (eligibility.recipient !== undefined && clock.now() < eligibility.recipientUntilMs) return true;
    try {
      eligibility.recipient = parts.recipient(subscription);
    } catch (cause) {
      onProblem(`the secret of ${subscription.id} cannot be opened: its deliveries are held back`, cause);
      return false;
    }
    const { previousSecret, olderSecret } = subscription;
    const ends = [previousSecret, olderSecret].flatMap((former) => former?.untilMs ?? []);
    eligibility.recipientUntilMs = Math.min(Infinity, ...ends.filter((endMs) => endMs > clock.now()));
    return true;
  }

  return {
    isFresh: ({ eligibility: { recipient, checkedAt } }, nowAt) =>
      recipient !== undefined && nowAt - checkedAt < CHECK_MS,
    async check(consumer) {
      const checkedAt = clock.monotonicMs();
      await parts.refresh();
      if (consumer.isClosed) return;
      const { eligibility, subscription } = consumer;
      const isEnabled = await parts.isKeyEnabled(subscription.keyId);
      eligibility.isHeldBack = !isEnabled || !open(consumer);
      if (!isEnabled) {
        consumer.notBeforeAt = Math.max(consumer.notBeforeAt, checkedAt + HOLD_BACK_MS);
        // When it is enabled again nobody knows how the endpoint does: what has waited is not given up before it was asked.
        consumer.endpoint = unasked(consumer.endpoint);
      } else if (eligibility.isHeldBack) {
        consumer.notBeforeAt = checkedAt + SEALED_MS;
      } else {
        eligibility.checkedAt = checkedAt;
      }
    },
  };
}

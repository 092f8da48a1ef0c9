import type { Clock } from "../../clock.ts";
import type { Subscription } from "../../store/webhook.ts";
import type { Recipient } from "./attempt.ts";
import { type Consumer, type Eligible, isClosed, putOff } from "./consumer.ts";
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
  /**
   * Checks it unless that was done a moment ago, once for all that ask at the same time.
   * @returns false where nothing may be posted for a while. Rejects when the store fails.
   */
  check(consumer: Consumer): Promise<boolean>;
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
  const checking = new Map<Consumer, Promise<void>>();

  /** Opens the secrets, anew when one of them signs no more; undefined when they can't be opened. */
  function open({ subscription, eligible }: Consumer): Omit<Eligible, "checkedAt"> | undefined {
    if (eligible !== undefined && clock.now() < eligible.untilMs) return eligible;
    try {
      const recipient = parts.recipient(subscription);
      const { previousSecret, olderSecret } = subscription;
      const ends = [previousSecret, olderSecret].flatMap((former) => former?.untilMs ?? []);
      return { recipient, untilMs: Math.min(Infinity, ...ends.filter((endMs) => endMs > clock.now())) };
    } catch (cause) {
      onProblem(`the secret of ${subscription.id} cannot be opened: its deliveries are held back`, cause);
      return undefined;
    }
  }

  async function checkNow(consumer: Consumer): Promise<void> {
    const checkedAt = clock.monotonicMs();
    await parts.refresh();
    if (isClosed(consumer)) return;
    const { subscription } = consumer;
    const isEnabled = await parts.isKeyEnabled(subscription.keyId);
    const opened = isEnabled ? open(consumer) : undefined;
    consumer.eligible = opened && { ...opened, checkedAt };
    if (opened !== undefined) return;
    putOff(consumer, checkedAt + (isEnabled ? SEALED_MS : HOLD_BACK_MS), true);
    // When it is enabled again nobody knows how the endpoint does: what has waited is not given up before it was asked.
    if (!isEnabled) consumer.endpoint = unasked(consumer.endpoint);
  }

  function isFresh({ eligible }: Consumer): boolean {
    return eligible !== undefined && clock.monotonicMs() - eligible.checkedAt < CHECK_MS;
  }

  return {
    async check(consumer) {
      if (isFresh(consumer)) return true;
      const under = checking.get(consumer) ?? checkNow(consumer).finally(() => checking.delete(consumer));
      checking.set(consumer, under);
      await under;
      return isFresh(consumer);
    },
  };
}

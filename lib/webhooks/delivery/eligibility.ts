import type { Clock } from "../../clock.ts";
import type { Subscription } from "../../store/webhook.ts";
import type { Recipient } from "./attempt.ts";
import { type Consumer, type Eligible, isClosed, putOff } from "./consumer.ts";
import { unasked } from "./endpoint.ts";

export interface EligibilityParts {
  /**
   * Whether the key exists, is enabled, has not expired and has the scope `webhooks`. Else its deliveries are held
   * back.
   */
  isKeyEnabled(keyId: string): Promise<boolean>;
  /** Loads changes of subscriptions, and closes the consumers of deleted ones. */
  refresh(): Promise<void>;
  /** The subscription with its secrets opened. */
  recipient(subscription: Subscription): Recipient;
  /** With a shared store it is the store's clock (`openStoreClock`), because gateways' clocks may differ. */
  clock: Clock;
  /** Reports a problem on our side; holds no secret and no URL. */
  onProblem(message: string, cause?: unknown): void;
}

/** Checks whether a subscription may receive posts, and with which secrets. */
export interface Eligibility {
  /**
   * Checks it, unless that was done a moment ago. Concurrent calls share a check.
   * @returns false when the consumer has to wait. Rejects when the store fails
   */
  check(consumer: Consumer): Promise<boolean>;
}

/** How long a check is valid. A disabled key takes effect within this time. */
const CHECK_MS = 1_000;
/** A check uses subscriptions loaded no longer ago than this. A load is made once a second unless something is slow. */
export const REFRESH_MS = 2_000;
/** A post uses a subscription and its secrets no older than this. */
export const HEEDED_MS: number = REFRESH_MS + CHECK_MS;
/** How long the deliveries of a disabled key are held back at a time. */
const HOLD_BACK_MS = 2_000;
/** The same for a secret that cannot be opened. */
const SEALED_MS = 5_000;

export function createEligibility(parts: EligibilityParts): Eligibility {
  const { clock, onProblem } = parts;
  const checking = new Map<Consumer, Promise<void>>();

  /** Opens the secrets, again when one has expired; undefined when that fails. */
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
    // Once the key is enabled again, the endpoint may be well: old deliveries are tried before they are given up.
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
